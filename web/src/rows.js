// Which lanes are shown, in which order: the rows of the timeline.

import { laneTitle } from "./model.js";

export const EVENTS = 0;
export const FLUENT = 1;
export const BAND = 2;

/** The set of lanes that a kind of row shows. */
export const setOf = (model, kind) => [model.events, model.fluents, model.bands][kind];

/** Lists the rows: by entity, or by fluent; those that the filters and the search leave. */
export function listRows(model, filters) {
  const kept = keptEntities(model, filters);
  const rows = { kinds: [], lanes: [], firsts: [] };
  if (filters.group === "fluent") byFluent(model, filters, kept, rows);
  else byEntity(model, filters, kept, rows);
  const size = rows.kinds.length;
  return { size, kinds: Uint8Array.from(rows.kinds), lanes: Int32Array.from(rows.lanes) };
}

function byEntity(model, filters, kept, rows) {
  const places = [0, 0, 0];
  const next = (kind, entity) => {
    const set = setOf(model, kind);
    return places[kind] < set.size && set.entity[places[kind]] <= entity;
  };
  for (let entity = 0; entity < model.entities.length; entity++) {
    while (next(EVENTS, entity)) take(model, filters, kept, rows, EVENTS, places[EVENTS]++);
    while (next(FLUENT, entity) || next(BAND, entity)) {
      const isBand = !next(FLUENT, entity) || (next(BAND, entity) && comesFirst(model, places));
      const kind = isBand ? BAND : FLUENT;
      take(model, filters, kept, rows, kind, places[kind]++);
    }
  }
}

/** Does the next band stand before the next lane of intervals? Below that of its own fluent. */
function comesFirst({ bands, fluents }, places) {
  const [lane, band] = [places[FLUENT], places[BAND]];
  const by = bands.relation[band] - fluents.relation[lane] || bands.rest[band] - fluents.rest[lane];
  return by < 0;
}

function byFluent(model, filters, kept, rows) {
  const byRelation = model.meta.fluents.map(() => []);
  for (const kind of [FLUENT, BAND]) {
    const set = setOf(model, kind);
    for (let lane = 0; lane < set.size; lane++) byRelation[set.relation[lane]].push([kind, lane]);
  }
  for (const lanes of byRelation) {
    for (const [kind, lane] of lanes) take(model, filters, kept, rows, kind, lane);
  }
  for (let lane = 0; lane < model.events.size; lane++) {
    take(model, filters, kept, rows, EVENTS, lane);
  }
}

function take(model, filters, kept, rows, kind, lane) {
  const set = setOf(model, kind);
  if (kind === EVENTS) {
    if (!filters.events || (kept && kept.words)) return;
    if (kept && !kept.entities[set.entity[lane]]) return;
  } else {
    if (filters.hiddenFluents.has(set.relation[lane])) return;
    if (kept && !kept.entities[set.entity[lane]] && !kept.lane(kind, lane)) return;
  }
  rows.kinds.push(kind);
  rows.lanes.push(lane);
}

/** Entities whose name has the word that is searched, and lanes whose title has it. */
function keptEntities(model, filters) {
  const word = filters.search.trim().toLowerCase();
  if (!word) return null;
  const entities = model.entities.map((each) => each.toLowerCase().includes(word));
  const lane = (kind, number) => {
    const set = setOf(model, kind);
    const fluent = model.meta.fluents[set.relation[number]].name;
    const rest = model.rests[set.rest[number]];
    return `${fluent}(${rest}`.toLowerCase().includes(word) || hasValue(model, set, number, word);
  };
  return { entities, lane, words: false };
}

function hasValue(model, set, lane, word) {
  return set.value[lane] > 0 && laneTitle(model, set, lane).toLowerCase().includes(word);
}
