// The summary: what there is, how long it lasts, what holds together, what rules and records did.

import { make, table } from "./dom.js";
import { countsOf } from "./filters.js";

/** Fills the page of the summary when it is first seen. */
export function fillSummary(page, model, clock, timeline) {
  const counts = countsOf(model);
  page.append(
    cards(model, clock, counts),
    part("How long it holds", durations(model, clock, timeline)),
    part("What holds together", coOccurrence(model),
      "Of the time that the fluent of a row holds for an entity, the share in which that of the column does, too."),
    part("Events", events(model, counts)),
    part("How often rules fired", rules(model)),
    part("Records that were not used", setAside(model)),
  );
}

function part(title, content, note) {
  if (!content) return "";
  return make("section", {}, make("h2", {}, title), note ? make("p", { class: "note" }, note) : null, content);
}

function cards(model, clock, counts) {
  const { meta, fluents, bands } = model;
  const number = (value) => value.toLocaleString("en");
  const entries = [
    ["intervals", number(fluents.starts.length - inputIntervals(model))],
    ["entities", number(model.entities.length)],
    ["fluents", number(meta.fluents.filter((each) => !each.input).length)],
    ["records", number(meta.summary.records ?? 0)],
    ["derived events", number(meta.events.reduce((sum, event, i) => sum + (event.derived ? counts.events[i] : 0), 0))],
    ["steps of probability", bands.starts.length ? number(bands.starts.length) : null],
    ["queries", number(meta.summary.queries ?? 1)],
    ["corrections", model.ghosts.lanes.length ? number(model.ghosts.lanes.length) : null],
  ].filter(([, value]) => value !== null && value !== "0");
  const span = make("p", { class: "span" }, `From ${clock.exact(0)} to ${clock.exact(meta.end)}, ${clock.duration(meta.end)}.`);
  return make("div", {}, make("div", { class: "cards" }, ...entries.map(([name, value]) =>
    make("div", { class: "card" }, make("b", {}, value), make("span", {}, name)))), span);
}

/** How many of the intervals were given, and not recognised. */
function inputIntervals({ meta, fluents }) {
  let count = 0;
  for (let lane = 0; lane < fluents.size; lane++) {
    if (meta.fluents[fluents.relation[lane]].input) count += fluents.offsets[lane + 1] - fluents.offsets[lane];
  }
  return count;
}

function durations(model, clock, timeline) {
  const groups = new Map();
  const set = model.fluents;
  for (let lane = 0; lane < set.size; lane++) {
    for (let i = set.offsets[lane]; i < set.offsets[lane + 1]; i++) {
      const key = `${set.relation[lane]} ${set.values[i]}`;
      if (!groups.has(key)) groups.set(key, { relation: set.relation[lane], value: set.values[i], lengths: [], entities: new Set() });
      const group = groups.get(key);
      group.lengths.push(set.ends[i] - set.starts[i]);
      group.entities.add(set.entity[lane]);
    }
  }
  if (!groups.size) return null;
  const rows = [...groups.values()].sort((a, b) => a.relation - b.relation || b.lengths.length - a.lengths.length);
  return table(["pair", "intervals", "entities", "in all", "median", "longest"], rows.slice(0, 200).map((group) => {
    const lengths = Float64Array.from(group.lengths).sort();
    const total = lengths.reduce((sum, each) => sum + each, 0);
    const swatch = make("i", { class: "swatch", style: `background:${timeline.colour(group.relation, group.value)}` });
    const fluent = model.meta.fluents[group.relation];
    const name = make("span", {}, swatch, `${fluent.name} = ${model.values[group.value]}`, fluent.input ? make("small", {}, " input") : null);
    return [name, lengths.length, group.entities.size, clock.duration(total), clock.duration(lengths[lengths.length >> 1]), clock.duration(lengths[lengths.length - 1])];
  }));
}

function events(model, counts) {
  if (!model.meta.events.length) return null;
  const rows = model.meta.events.map((event, i) => [`${event.name}/${event.arity}`, event.derived ? "derived" : "input", counts.events[i]]);
  return table(["event", "kind", "happenings"], rows);
}

function rules(model) {
  const fired = model.meta.rules.filter((rule) => rule.fired !== undefined && rule.fired !== null);
  if (!fired.length) return null;
  return table(["rule", "place", "fired"], fired.map((rule) => [make("code", {}, rule.text), rule.place, rule.fired]));
}

function setAside(model) {
  // A page of a stream says above what became of records.
  if (model.meta.summary?.records === undefined) return null;
  const { summary } = model.meta;
  const rows = (summary.unused ?? []).map((each) => [each.source || "-", each.line, each.reason, make("code", {}, each.text)]);
  const others = Object.entries(summary.ignored ?? {}).map(([name, count]) => ["-", count, `no rule mentions ${name || "records without a name"}`, ""]);
  const all = [...rows, ...others];
  if (!all.length) return make("p", {}, "All records were used.");
  const more = summary.unusedCount > rows.length ? make("p", { class: "note" }, `The first ${rows.length} of ${summary.unusedCount.toLocaleString("en")} are listed.`) : "";
  return make("div", {}, table(["source", "line, or count", "reason", "text"], all), more);
}

/** The share of the time of each fluent in which another one holds for the same entity. */
function coOccurrence(model) {
  const size = model.meta.fluents.length;
  if (!model.fluents.starts.length || size < 2) return null;
  const { together, alone } = overlaps(model, size);
  const shown = [...alone.keys()].filter((relation) => alone[relation] > 0).slice(0, 24);
  const names = shown.map((relation) => model.meta.fluents[relation].name);
  const heads = make("tr", {}, make("th", {}), ...names.map((name) => make("th", { class: "slant" }, make("span", {}, name))));
  const rows = shown.map((row, place) => make("tr", {}, make("th", {}, names[place]), ...shown.map((column) => {
    const share = row === column ? null : together[row * size + column] / alone[row];
    if (share === null) return make("td", { class: "self" });
    const label = share > 0.0005 ? `${Math.round(share * 100)}%` : "";
    return make("td", { style: `--share:${share.toFixed(3)}`, title: `${names[place]} with ${model.meta.fluents[column].name}: ${(share * 100).toFixed(2)}%` }, label);
  })));
  return make("div", { class: "scroll" }, make("table", { class: "matrix" }, make("thead", {}, heads), make("tbody", {}, ...rows)));
}

/** One sweep over the ends of all intervals of each entity. */
function overlaps(model, size) {
  const set = model.fluents;
  const together = new Float64Array(size * size);
  const alone = new Float64Array(size);
  for (let lane = 0; lane < set.size;) {
    const entity = set.entity[lane];
    const edges = [];
    for (; lane < set.size && set.entity[lane] === entity; lane++) {
      for (let i = set.offsets[lane]; i < set.offsets[lane + 1]; i++) {
        edges.push([set.starts[i], set.relation[lane], 1], [set.ends[i], set.relation[lane], -1]);
      }
    }
    sweep(edges.sort((a, b) => a[0] - b[0]), size, together, alone);
  }
  return { together, alone };
}

function sweep(edges, size, together, alone) {
  const held = new Int32Array(size);
  const active = new Set();
  let last = edges[0]?.[0] ?? 0;
  for (const [time, relation, change] of edges) {
    const length = time - last;
    if (length > 0) {
      for (const one of active) {
        alone[one] += length;
        for (const other of active) together[one * size + other] += length;
      }
      last = time;
    }
    held[relation] += change;
    if (held[relation] > 0) active.add(relation);
    else active.delete(relation);
  }
}
