// What the page shows: lanes of intervals, of bands of probability and of events.

/** Turns the columns of a page into absolute times, lane by lane. */
export function makeModel({ meta, columns }) {
  const model = { meta, entities: columns.entities ?? [], rests: columns.rests ?? [] };
  model.values = columns.values ?? [];
  model.fluents = readIntervals(columns, "interval", "lane");
  model.fluents.values = columns["interval.value"] ?? new Int32Array(0);
  model.fluents.chances = columns["interval.chance"];
  markOpen(model.fluents, columns["interval.open"] ?? [], meta.end);
  model.bands = readIntervals(columns, "band", "bandlane");
  model.bands.chances = columns["band.chance"] ?? new Float32Array(0);
  model.bands.totals = runningTotals(model.bands, (i) => model.bands.chances[i]);
  model.events = readEvents(columns);
  model.fluents.totals = runningTotals(model.fluents, () => 1);
  model.ghosts = readGhosts(columns);
  model.causes = readCauses(columns);
  model.bandCauses = readBandCauses(columns);
  model.rowOfEvent = eventRows(model.events.kinds, meta.events.length);
  model.attribute = (kind, column) => columns[`event${kind}.${column}`];
  model.attributeTexts = (kind, column) => columns[`event${kind}.${column}.texts`];
  model.exactRest = { start: columns["interval.start.rest"], end: columns["interval.end.rest"], event: columns["event.rest"] };
  model.explanations = readExplanations(columns);
  return model;
}

function readLanes(columns, name) {
  const counts = columns[`${name}.count`] ?? [];
  const offsets = new Int32Array(counts.length + 1);
  for (let i = 0; i < counts.length; i++) offsets[i + 1] = offsets[i] + counts[i];
  const empty = new Int32Array(counts.length);
  const entity = columns[`${name}.entity`] ?? empty;
  for (let i = 1; i < entity.length; i++) entity[i] += entity[i - 1];
  return {
    size: counts.length,
    offsets,
    entity,
    relation: columns[`${name}.relation`] ?? empty,
    rest: columns[`${name}.rest`] ?? empty,
    value: columns[`${name}.value`] ?? empty,
  };
}

/** Starts are counted from the end before in the lane, ends from the start. */
function readIntervals(columns, name, lanes) {
  const set = readLanes(columns, lanes);
  const gaps = columns[`${name}.gap`] ?? [];
  const lengths = columns[`${name}.length`] ?? [];
  set.starts = new Float64Array(gaps.length);
  set.ends = new Float64Array(gaps.length);
  for (let lane = 0; lane < set.size; lane++) {
    let time = 0;
    for (let i = set.offsets[lane]; i < set.offsets[lane + 1]; i++) {
      set.starts[i] = time + gaps[i];
      set.ends[i] = time = set.starts[i] + lengths[i];
    }
  }
  return set;
}

function markOpen(set, places, end) {
  set.open = new Set();
  for (const place of places) {
    set.open.add(place);
    set.ends[place] = Math.max(end, set.starts[place]);
  }
}

/** What intervals cover up to each of them, so that any stretch is known at once. */
function runningTotals(set, weight) {
  const totals = new Float64Array(set.starts.length + 1);
  for (let i = 0; i < set.starts.length; i++) {
    totals[i + 1] = totals[i] + (set.ends[i] - set.starts[i]) * weight(i);
  }
  return totals;
}

function readEvents(columns) {
  const set = readLanes(columns, "eventlane");
  const gaps = columns["event.gap"] ?? [];
  set.kinds = columns["event.kind"] ?? new Int32Array(0);
  set.times = new Float64Array(gaps.length);
  for (let lane = 0; lane < set.size; lane++) {
    let time = 0;
    for (let i = set.offsets[lane]; i < set.offsets[lane + 1]; i++) set.times[i] = time += gaps[i];
  }
  return set;
}

/** The row that each event has among those of its kind. */
function eventRows(kinds, count) {
  const next = new Int32Array(count);
  const rows = new Int32Array(kinds.length);
  for (let i = 0; i < kinds.length; i++) rows[i] = next[kinds[i]]++;
  return rows;
}

/** Stretches that a later query has corrected, in the order of lanes. */
function readGhosts(columns) {
  const lanes = columns["ghost.lane"] ?? new Int32Array(0);
  return {
    lanes,
    starts: columns["ghost.start"] ?? [],
    ends: columns["ghost.end"] ?? [],
    added: columns["ghost.added"] ?? [],
    query: columns["ghost.query"] ?? [],
  };
}

function readCauses(columns) {
  if (!columns["cause.begin.rule"]) return null;
  const [begin, end] = [columns["cause.begin.event"], columns["cause.end.event"]];
  for (let i = 1; i < begin.length; i++) begin[i] += begin[i - 1];
  for (let i = 0; i < end.length; i++) end[i] += begin[i];
  return {
    beginRule: columns["cause.begin.rule"],
    endRule: columns["cause.end.rule"],
    beginEvent: begin,
    endEvent: end,
  };
}

/** What changed the probability at the beginning of each band. */
function readBandCauses(columns) {
  const [rules, events] = [columns["bandcause.rule"], columns["bandcause.event"]];
  if (!rules) return null;
  for (let i = 1; i < events.length; i++) events[i] += events[i - 1];
  return { rules, events };
}

function readExplanations(columns) {
  const places = columns["explained.place"] ?? [];
  const texts = columns["explained.text"] ?? [];
  return new Map(Array.from(places, (place, i) => [place, texts[i]]));
}

/** The name of a lane below its entity, such as `withinArea(·, fishing)`. */
export function laneTitle(model, set, lane) {
  const fluent = model.meta.fluents[set.relation[lane]];
  const rest = model.rests[set.rest[lane]];
  const title = rest ? `${fluent.name}(·, ${rest})` : fluent.name;
  const isTrue = model.values[set.value[lane] - 1] === "true";
  return set.value[lane] && !isTrue ? `${title} = ${model.values[set.value[lane] - 1]}` : title;
}

/** A pair as rules write it. */
export function pairText(model, set, lane, value) {
  const fluent = model.meta.fluents[set.relation[lane]];
  const entity = model.entities[set.entity[lane]];
  const args = [entity, model.rests[set.rest[lane]]].filter((each) => each !== "").join(", ");
  return `${fluent.name}${fluent.arity ? `(${args})` : ""} = ${value}`;
}
