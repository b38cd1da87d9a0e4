// Numeric attributes of events as curves below the timeline, beside the thresholds of the rules.

import uPlot from "uplot";
import { make } from "./dom.js";
import { paint, styleColour } from "./colours.js";

const HEIGHT = 150;

/** Shows one attribute of the entity that is chosen, in step with the timeline. */
export function makeCurves(panel, model, view, timeline, clock) {
  let choices = [];
  let lanes = new Map();
  const select = make("select", { onchange: () => draw() });
  const heading = make("b", {}, "");
  const box = make("div", { class: "plot" });
  const close = make("button", { type: "button", class: "link", onclick: () => show(null) }, "close");
  panel.append(make("div", { class: "bar" }, heading, make("label", {}, "attribute ", select), close), box);
  let plot = null;
  let entity = null;
  read();

  /** The attributes that there are, and where the events of each entity stand. */
  function read() {
    const chosen = choices[select.value]?.name;
    choices = numericAttributes(model);
    lanes = new Map(Array.from({ length: model.events.size }, (_, lane) => [model.events.entity[lane], lane]));
    select.replaceChildren(...choices.map(({ name }, i) => make("option", { value: i }, name)));
    select.value = Math.max(choices.findIndex(({ name }) => name === chosen), 0);
  }

  /** The data is new; entities have other numbers, so the one that is shown is found by its name. */
  function renew(nameBefore) {
    read();
    const number = nameBefore === undefined ? -1 : model.entities.indexOf(nameBefore);
    entity = undefined;
    show(number < 0 ? null : number);
  }

  function show(next) {
    if (next === entity) return;
    entity = next;
    const lane = lanes.get(entity);
    panel.hidden = lane === undefined || !choices.length;
    if (!panel.hidden && !pointsOf(model, lane, choices[select.value])[0].length) {
      const better = choices.findIndex((each) => pointsOf(model, lane, each)[0].length);
      if (better >= 0) select.value = better;
      else panel.hidden = true;
    }
    panel.dispatchEvent(new CustomEvent("resized", { bubbles: true }));
    draw();
  }

  function draw() {
    plot?.destroy();
    plot = null;
    if (panel.hidden || entity === null) return;
    const choice = choices[select.value];
    heading.textContent = `${model.entities[entity]} `;
    const [times, numbers] = pointsOf(model, lanes.get(entity), choice);
    plot = new uPlot(optionsOf(choice, numbers), [times, numbers], box);
  }

  function optionsOf(choice, numbers) {
    const colour = paint(choice.kind + model.meta.fluents.length + 3);
    const axis = { stroke: styleColour("--soft"), grid: { stroke: styleColour("--line"), width: 1 }, ticks: { show: false }, font: "11px system-ui" };
    return {
      width: timeline.labels + timeline.width(),
      height: HEIGHT,
      padding: [8, 0, 6, 0],
      legend: { show: false },
      cursor: { drag: { x: false, y: false }, points: { size: 6 } },
      scales: { x: { time: false, auto: false, range: () => [view.low, view.high] }, y: { range: rangeWith(choice, numbers) } },
      axes: [{ show: false }, { ...axis, size: timeline.labels }],
      series: [{}, { stroke: colour, width: 1.5, points: { show: numbers.length < 200, size: 5, fill: colour } }],
      hooks: { draw: [(u) => drawThresholds(u, choice.thresholds)] },
    };
  }

  /** The thresholds that rules compare the attribute with, dashed, with their origin. */
  function drawThresholds(u, thresholds) {
    const { ctx, bbox } = u;
    ctx.save();
    ctx.strokeStyle = ctx.fillStyle = styleColour("--warn");
    ctx.setLineDash([6, 4]);
    ctx.textAlign = "left";
    ctx.textBaseline = "alphabetic";
    ctx.font = `${11 * devicePixelRatio}px system-ui`;
    let last = Infinity;
    for (const { value, text } of [...thresholds].sort((a, b) => a.value - b.value)) {
      const y = Math.round(u.valToPos(value, "y", true));
      if (y < bbox.top || y > bbox.top + bbox.height) continue;
      ctx.beginPath();
      ctx.moveTo(bbox.left, y);
      ctx.lineTo(bbox.left + bbox.width, y);
      ctx.stroke();
      if (last - y > 12 * devicePixelRatio) ctx.fillText(text, bbox.left + 6, y - 3);
      last = y;
    }
    ctx.restore();
  }

  view.onChange(() => plot?.setScale("x", { min: view.low, max: view.high }));
  return { show, draw, renew, shown: () => (entity === null ? undefined : model.entities[entity]) };
}

/** A range with all numbers and those thresholds that are not far off. */
function rangeWith({ thresholds }, numbers) {
  let [low, high] = [Infinity, -Infinity];
  for (const each of numbers) [low, high] = [Math.min(low, each), Math.max(high, each)];
  const span = high - low || Math.abs(high) || 1;
  for (const { value } of thresholds) {
    if (value > low - span && value < high + span) [low, high] = [Math.min(low, value), Math.max(high, value)];
  }
  const margin = (high - low || 1) * 0.1;
  return [low - margin, high + margin];
}

function numericAttributes(model) {
  const found = [];
  model.meta.events.forEach((event, kind) => event.columns.forEach((name, column) => {
    if (column === 0 || model.attributeTexts(kind, column) || !model.attribute(kind, column)) return;
    const thresholds = event.thresholds?.[column] ?? [];
    found.push({ kind, column, name: `${event.name} · ${name}`, thresholds });
  }));
  return found.sort((a, b) => b.thresholds.length - a.thresholds.length);
}

function pointsOf(model, lane, { kind, column }) {
  const { offsets, kinds, times } = model.events;
  const values = model.attribute(kind, column);
  const [xs, ys] = [[], []];
  for (let i = offsets[lane]; i < offsets[lane + 1]; i++) {
    if (kinds[i] !== kind) continue;
    xs.push(times[i]);
    ys.push(values[model.rowOfEvent[i]]);
  }
  return [xs, ys];
}
