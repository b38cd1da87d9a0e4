// The panel of what is shown: fluents with their colours and counts, and events.

import { make } from "./dom.js";

/** Fills the panel; a change of it calls `changed`. */
export function makeFilters(panel, model, timeline, filters, changed) {
  const counts = countsOf(model);
  panel.append(
    groupChoice(filters, changed),
    section("Fluents", model.meta.fluents, counts.fluents, (i) => timeline.colour(i, swatchValue(model, i)), filters.hiddenFluents, changed),
  );
  if (model.meta.events.length) {
    panel.append(section("Events", model.meta.events, counts.events, (i) => timeline.eventColour(i), filters.hiddenEvents, changed));
  }
}

function swatchValue(model, relation) {
  const place = model.values.indexOf("true");
  if (place >= 0 && !model.meta.fluents[relation].many) return place;
  const set = model.fluents;
  for (let lane = 0; lane < set.size; lane++) if (set.relation[lane] === relation) return set.values[set.offsets[lane]];
  return 0;
}

/** How many intervals each fluent has, and how many happenings each event. */
export function countsOf(model) {
  const fluents = new Array(model.meta.fluents.length).fill(0);
  for (const set of [model.fluents, model.bands]) {
    if (set === model.bands && model.fluents.size) continue;
    for (let lane = 0; lane < set.size; lane++) fluents[set.relation[lane]] += set.offsets[lane + 1] - set.offsets[lane];
  }
  const events = new Array(model.meta.events.length).fill(0);
  for (const kind of model.events.kinds) events[kind]++;
  return { fluents, events };
}

function groupChoice(filters, changed) {
  const choice = make("select", { id: "group", onchange: () => {
    filters.group = choice.value;
    changed();
  } }, make("option", { value: "entity" }, "Group by entity"), make("option", { value: "fluent" }, "Group by fluent"));
  return make("label", { class: "group" }, make("span", { class: "hidden" }, "Grouping"), choice);
}

function section(title, entries, counts, colour, hidden, changed) {
  const boxes = [];
  const list = make("ul", {}, ...entries.map((entry, i) => {
    const box = make("input", { type: "checkbox", checked: !hidden.has(i), onchange: () => {
      if (box.checked) hidden.delete(i);
      else hidden.add(i);
      changed();
    } });
    boxes.push(box);
    const swatch = make("i", { class: "swatch", "data-swatch": "" });
    swatch.repaint = () => (swatch.style.background = colour(i));
    swatch.repaint();
    const name = make("span", { class: "name", title: `${entry.name}/${entry.arity}` }, entry.name);
    return make("li", {}, make("label", {}, box, swatch, name, make("span", { class: "count" }, counts[i].toLocaleString("en"))));
  }));
  const all = make("button", { type: "button", class: "link", onclick: () => {
    const show = hidden.size > 0;
    hidden.clear();
    if (!show) entries.forEach((_, i) => hidden.add(i));
    for (const box of boxes) box.checked = show;
    changed();
  } }, "all / none");
  return make("section", {}, make("h2", {}, title, all), list);
}
