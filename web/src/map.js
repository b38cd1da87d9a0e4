// The map: tracks coloured by what holds, areas, and a slider in step with the timeline.

import { styleColour } from "./colours.js";
import { make } from "./dom.js";
import { drawAreas, drawGraticule, drawScale, drawTiles } from "./mapground.js";
import { makeMinimap } from "./minimap.js";
import { firstAfter } from "./search.js";
import { boxAround, readAreas, readTracks, unproject } from "./tracks.js";

/** Fills the page of the map; it is drawn when it is first seen. */
export function makeMap(page, model, view, timeline, clock, on) {
  let tracks = readTracks(model);
  const areas = readAreas(model);
  const canvas = make("canvas", { class: "mapcanvas", tabindex: "0", "aria-label": "Map of tracks and areas" });
  const colouring = make("select", { onchange: () => ask() },
    ...colourChoices(model).map((relation) => make("option", { value: relation }, relation < 0 ? "nothing" : model.meta.fluents[relation].name)));
  const slider = make("input", { type: "range", min: 0, max: 1000, value: 1000, "aria-label": "Time", oninput: () => ask() });
  const clockText = make("output", {}, "");
  const play = make("button", { type: "button", class: "icon", "aria-label": "Play", onclick: () => toggle() }, "▶");
  const legend = make("div", { class: "legend" });
  const tiles = { on: false, url: "https://tile.openstreetmap.org/{z}/{x}/{y}.png", images: new Map() };
  const small = make("canvas", { class: "smallmap", "aria-hidden": "true" });
  page.append(
    make("div", { class: "mapbar" }, make("label", {}, "colour tracks by ", colouring), legend, tileChoice()),
    canvas, make("div", { class: "mapbar time" }, play, slider, clockText), small);
  const minimap = makeMinimap(small, model, view, timeline);
  const context = canvas.getContext("2d");
  const place = { x: 0, y: 0, scale: 0 };
  let lanesOf = laneIndex(model);
  let asked = false;

  function tileChoice() {
    const url = make("input", { type: "text", value: tiles.url, "aria-label": "Address of tiles", hidden: true, onchange: () => {
      [tiles.url, tiles.images] = [url.value, new Map()];
      ask();
    } });
    const box = make("input", { type: "checkbox", onchange: () => {
      tiles.on = box.checked;
      url.hidden = !tiles.on;
      ask();
    } });
    return make("label", { class: "tiles", title: "Asks a server in the network for pictures" }, box, " background from the network ", url);
  }

  function ask() {
    if (asked) return;
    asked = true;
    requestAnimationFrame(() => {
      asked = false;
      draw();
    });
  }

  /** The time that the slider stands at, within the view. */
  const now = () => view.low + (view.high - view.low) * (slider.value / 1000);

  function fit() {
    const box = boxAround(tracks, areas);
    const [width, height] = [canvas.clientWidth, canvas.clientHeight];
    place.x = (box.left + box.right) / 2;
    place.y = (box.top + box.bottom) / 2;
    const size = Math.max((box.right - box.left) / width, (box.bottom - box.top) / height, 1e-7);
    place.scale = 0.86 / size;
  }

  function draw() {
    const [width, height, ratio] = [canvas.clientWidth, canvas.clientHeight, devicePixelRatio || 1];
    if (!width) return;
    if (!place.scale) fit();
    if (canvas.width !== Math.round(width * ratio)) canvas.width = Math.round(width * ratio);
    if (canvas.height !== Math.round(height * ratio)) canvas.height = Math.round(height * ratio);
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    context.fillStyle = styleColour("--water");
    context.fillRect(0, 0, width, height);
    const screen = { width, height, x: (x) => (x - place.x) * place.scale + width / 2, y: (y) => (y - place.y) * place.scale + height / 2, place };
    if (tiles.on) drawTiles(context, screen, tiles, ask);
    else drawGraticule(context, screen);
    drawAreas(context, screen, areas);
    const relation = Number(colouring.value);
    const shown = new Map();
    const coloured = [];
    for (const track of tracks) drawTrack(track, screen, relation, shown, coloured);
    coloured.forEach(drawColoured);
    for (const track of tracks) drawHead(track, screen);
    drawScale(context, screen);
    fillLegend(relation, shown);
    clockText.textContent = clock.exact(now());
  }

  /** The part of a track within the view and up to now; places nearer than a pixel are left out. */
  function drawTrack(track, screen, relation, shown, coloured) {
    const { times, xs, ys, entity } = track;
    const end = firstAfter(times, now(), 0, times.length);
    let i = Math.max(firstAfter(times, view.low, 0, times.length) - 1, 0);
    const isChosen = timeline.selected && timeline.entityOf(timeline.selected.row) === entity;
    context.lineWidth = isChosen ? 3 : 1.3;
    context.lineJoin = "round";
    context.strokeStyle = styleColour("--track");
    while (i < end - 1) {
      const [colour, until] = colourAt(entity, relation, times[i], shown);
      const path = new Path2D();
      let [x, y] = [screen.x(xs[i]), screen.y(ys[i])];
      const stretch = { path, colour, x, y, length: 0 };
      path.moveTo(x, y);
      do {
        i++;
        const [nextX, nextY] = [screen.x(xs[i]), screen.y(ys[i])];
        if (Math.abs(nextX - x) + Math.abs(nextY - y) < 1 && i < end - 1 && times[i] < until) continue;
        path.lineTo(nextX, nextY);
        stretch.length += Math.abs(nextX - x) + Math.abs(nextY - y);
        [x, y] = [nextX, nextY];
      } while (i < end - 1 && times[i] < until);
      if (colour) coloured.push(stretch);
      else context.stroke(path);
    }
  }

  /** What holds lies above the rest; where an entity hardly moved meanwhile, it is a dot. */
  function drawColoured({ path, colour, x, y, length }) {
    context.strokeStyle = context.fillStyle = colour;
    context.lineWidth = 3.5;
    context.lineCap = "round";
    context.stroke(path);
    if (length > 12) return;
    context.beginPath();
    context.arc(x, y, 6, 0, 7);
    context.fill();
  }

  /** The colour of an entity at a time, and until when it has it. */
  function colourAt(entity, relation, time, shown) {
    const set = model.fluents;
    let until = Infinity;
    for (const lane of lanesOf.get(`${entity} ${relation}`) ?? []) {
      const i = firstAfter(set.ends, time, set.offsets[lane], set.offsets[lane + 1]);
      if (i >= set.offsets[lane + 1]) continue;
      if (set.starts[i] <= time) {
        const colour = timeline.colour(relation, set.values[i]);
        shown.set(set.values[i], colour);
        return [colour, set.ends[i]];
      }
      until = Math.min(until, set.starts[i]);
    }
    return [null, until];
  }

  function drawHead({ times, xs, ys, entity }, screen) {
    const last = firstAfter(times, now(), 0, times.length) - 1;
    if (last < 0) return;
    let [x, y] = [xs[last], ys[last]];
    if (last + 1 < times.length) {
      const share = (now() - times[last]) / (times[last + 1] - times[last] || 1);
      [x, y] = [x + (xs[last + 1] - x) * share, y + (ys[last + 1] - y) * share];
    }
    const isChosen = timeline.selected && timeline.entityOf(timeline.selected.row) === entity;
    context.beginPath();
    context.arc(screen.x(x), screen.y(y), isChosen ? 6 : 3.5, 0, 7);
    context.fillStyle = styleColour(isChosen ? "--accent" : "--ink");
    context.globalAlpha = times[last] < view.low ? 0.3 : 1;
    context.fill();
    context.globalAlpha = 1;
    if (!isChosen && tracks.length > 40) return;
    context.font = "11px system-ui, sans-serif";
    context.fillText(model.entities[entity], screen.x(x) + 7, screen.y(y) - 5);
  }

  function fillLegend(relation, shown) {
    const entries = [...shown].sort((a, b) => a[0] - b[0]).slice(0, 8);
    legend.replaceChildren(...entries.map(([value, colour]) => make("span", {},
      make("i", { class: "swatch", style: `background:${colour}` }), relation < 0 ? "" : `${model.meta.fluents[relation].name} = ${model.values[value]}`)));
  }

  let timer = null;
  function toggle() {
    play.textContent = timer ? "▶" : "❚❚";
    if (timer) return (timer = clearInterval(timer) ?? null);
    if (slider.value >= 1000) slider.value = 0;
    timer = setInterval(() => {
      slider.value = Number(slider.value) + 2;
      ask();
      if (slider.value >= 1000) toggle();
    }, 33);
    return undefined;
  }

  listenToMap(canvas, place, ask, fit, (event) => nearest(event));

  /** The track next to the pointer. */
  function nearest(event) {
    const box = canvas.getBoundingClientRect();
    const x = (event.clientX - box.left - box.width / 2) / place.scale + place.x;
    const y = (event.clientY - box.top - box.height / 2) / place.scale + place.y;
    let best = null;
    let least = (10 / place.scale) ** 2;
    for (const track of tracks) {
      const end = firstAfter(track.times, now(), 0, track.times.length);
      for (let i = firstAfter(track.times, view.low - 1, 0, track.times.length); i < end; i++) {
        const distance = (track.xs[i] - x) ** 2 + (track.ys[i] - y) ** 2;
        if (distance < least) [best, least] = [{ entity: track.entity, time: track.times[i], at: unproject(track.xs[i], track.ys[i]) }, distance];
      }
    }
    on(best, event);
  }

  view.onChange(ask);
  new ResizeObserver(ask).observe(canvas);
  /** The data is new: tracks are read again, and the place that is shown stays. */
  function renew() {
    tracks = readTracks(model);
    lanesOf = laneIndex(model);
    minimap.recount();
    ask();
  }

  return {
    draw: () => (ask(), minimap.draw()),
    restyle: () => (ask(), minimap.restyle()),
    renew,
    get tracks() { return tracks; },
    slider,
  };
}

/** Which fluents tracks may be coloured by; first those that are defined last, from all others. */
function colourChoices(model) {
  const sizes = model.meta.fluents.map(() => 0);
  for (let lane = 0; lane < model.fluents.size; lane++) sizes[model.fluents.relation[lane]]++;
  const order = [...sizes.keys()].filter((i) => sizes[i]);
  return [...order.reverse(), -1];
}

/** The lanes of each entity and fluent; what holds of two entities is of both. */
function laneIndex({ fluents, entities, rests }) {
  const index = new Map();
  const numbers = new Map(entities.map((name, number) => [name, number]));
  const enter = (entity, lane) => {
    const key = `${entity} ${fluents.relation[lane]}`;
    if (!index.has(key)) index.set(key, []);
    index.get(key).push(lane);
  };
  for (let lane = 0; lane < fluents.size; lane++) {
    enter(fluents.entity[lane], lane);
    const other = numbers.get(rests[fluents.rest[lane]]);
    if (other !== undefined && other !== fluents.entity[lane]) enter(other, lane);
  }
  return index;
}

/** Dragging moves the map, the wheel and the keys zoom it. */
function listenToMap(canvas, place, ask, fit, point) {
  let drag = null;
  const zoom = (factor, event) => {
    const box = canvas.getBoundingClientRect();
    const dx = event ? event.clientX - box.left - box.width / 2 : 0;
    const dy = event ? event.clientY - box.top - box.height / 2 : 0;
    const scale = Math.min(Math.max(place.scale * factor, 200), 5e9);
    place.x += dx / place.scale - dx / scale;
    place.y += dy / place.scale - dy / scale;
    place.scale = scale;
    ask();
  };
  canvas.addEventListener("pointerdown", (event) => {
    canvas.setPointerCapture(event.pointerId);
    drag = { x: event.clientX, y: event.clientY, left: place.x, top: place.y };
  });
  canvas.addEventListener("pointermove", (event) => {
    if (!drag) return point(event);
    place.x = drag.left - (event.clientX - drag.x) / place.scale;
    place.y = drag.top - (event.clientY - drag.y) / place.scale;
    return ask();
  });
  canvas.addEventListener("pointerup", (event) => {
    if (drag && Math.abs(event.clientX - drag.x) + Math.abs(event.clientY - drag.y) < 3) point(event);
    drag = null;
  });
  canvas.addEventListener("wheel", (event) => {
    event.preventDefault();
    zoom(Math.exp(-Math.max(Math.min(event.deltaY, 200), -200) * 0.002), event);
  }, { passive: false });
  canvas.addEventListener("keydown", (event) => {
    const step = 60 / place.scale;
    const moves = { ArrowLeft: [-step, 0], ArrowRight: [step, 0], ArrowUp: [0, -step], ArrowDown: [0, step] };
    if (moves[event.key]) [place.x, place.y] = [place.x + moves[event.key][0], place.y + moves[event.key][1]];
    else if (event.key === "+" || event.key === "=") zoom(1.4);
    else if (event.key === "-") zoom(1 / 1.4);
    else if (event.key === "Home") fit();
    else return;
    event.preventDefault();
    ask();
  });
}
