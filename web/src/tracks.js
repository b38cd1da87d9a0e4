// Tracks for the map: the places of each entity in the order of time.

const LONGITUDE = /^(lon|long|lng|longitude)$/i;
const LATITUDE = /^(lat|latitude)$/i;

/** Longitude and latitude on a square of side 1, as web maps project them. */
export function project(longitude, latitude) {
  const sine = Math.sin((Math.max(Math.min(latitude, 85), -85) * Math.PI) / 180);
  return [longitude / 360 + 0.5, 0.5 - Math.log((1 + sine) / (1 - sine)) / (4 * Math.PI)];
}

export function unproject(x, y) {
  return [(x - 0.5) * 360, (Math.atan(Math.exp((0.5 - y) * 2 * Math.PI)) * 360) / Math.PI - 90];
}

/** The columns of each kind of event that hold a place. */
export function placeColumns(model) {
  return model.meta.events.map((event, kind) => {
    const find = (name) => event.columns.findIndex((title, column) => column > 0 && name.test(title)
      && !model.attributeTexts(kind, column) && model.attribute(kind, column));
    const [longitude, latitude] = [find(LONGITUDE), find(LATITUDE)];
    return longitude < 0 || latitude < 0 ? null : [model.attribute(kind, longitude), model.attribute(kind, latitude)];
  });
}

/** The track of each entity that has places: times, and places on the square. */
export function readTracks(model) {
  const columns = placeColumns(model);
  const { events } = model;
  const tracks = [];
  for (let lane = 0; lane < events.size; lane++) {
    const [times, xs, ys] = [[], [], []];
    for (let i = events.offsets[lane]; i < events.offsets[lane + 1]; i++) {
      const places = columns[events.kinds[i]];
      if (!places) continue;
      const row = model.rowOfEvent[i];
      const [x, y] = project(places[0][row], places[1][row]);
      if (!Number.isFinite(x + y)) continue;
      times.push(events.times[i]);
      xs.push(x);
      ys.push(y);
    }
    if (times.length) tracks.push({ entity: events.entity[lane], times: Float64Array.from(times), xs: Float64Array.from(xs), ys: Float64Array.from(ys) });
  }
  return tracks;
}

/** The areas of the report on the square, rings as lists of places. */
export function readAreas(model) {
  return (model.meta.areas ?? []).map(({ name, kind, rings }) => ({
    name, kind, rings: rings.map((ring) => ring.map(([longitude, latitude]) => project(longitude, latitude))),
  }));
}

/** The least box around tracks and areas. */
export function boxAround(tracks, areas) {
  const box = { left: Infinity, right: -Infinity, top: Infinity, bottom: -Infinity };
  const enter = (x, y) => {
    box.left = Math.min(box.left, x);
    box.right = Math.max(box.right, x);
    box.top = Math.min(box.top, y);
    box.bottom = Math.max(box.bottom, y);
  };
  for (const { xs, ys } of tracks) for (let i = 0; i < xs.length; i++) enter(xs[i], ys[i]);
  if (box.left > box.right) for (const { rings } of areas) for (const ring of rings) for (const place of ring) enter(...place);
  return box;
}
