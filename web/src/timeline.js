// The timeline: labels to the left, an axis above, and rows of lanes that are drawn when seen.

import { isDark, makePalette, paint, pixel, styleColour } from "./colours.js";
import { laneTitle } from "./model.js";
import { BAND, EVENTS, FLUENT, listRows, setOf } from "./rows.js";
import { paintBands, paintEvents, paintGhost, paintIntervals, Raster } from "./raster.js";
import { firstAfter } from "./search.js";

export const ROW = 24;
export const AXIS = 30;

/** Makes the timeline in its elements; `draw` is asked for, and done once a frame. */
export function makeTimeline(elements, model, view, clock, filters) {
  const { scroller, canvas, spacer } = elements;
  const context = canvas.getContext("2d", { alpha: false });
  const palette = makePalette(model);
  const timeline = { rows: listRows(model, filters), selected: null, hovered: null, labels: 280, drawn: 0 };
  let asked = false;
  let raster = null;
  /** The colours of the page, which are asked for once: asking costs more than a row of intervals. */
  let look = null;
  let size = { width: 0, height: 0, ratio: 1 };

  timeline.palette = palette;
  timeline.colour = (relation, value) => paint(palette(relation, value));
  timeline.width = () => size.width - timeline.labels;

  timeline.ask = () => {
    if (asked) return;
    asked = true;
    requestAnimationFrame(() => {
      asked = false;
      timeline.draw();
    });
  };

  timeline.refilter = () => {
    timeline.rows = listRows(model, filters);
    spacer.style.height = `${timeline.rows.size * ROW + AXIS}px`;
    elements.empty.hidden = timeline.rows.size > 0;
    timeline.ask();
  };

  /** The data is new: what was computed from the old one is forgotten. */
  timeline.renew = () => {
    pixelsDark = null;
    timeline.selected = timeline.hovered = null;
    timeline.refilter();
  };

  timeline.resize = () => {
    const ratio = window.devicePixelRatio || 1;
    size = { width: scroller.clientWidth, height: scroller.clientHeight, ratio };
    timeline.labels = Math.min(280, Math.max(120, size.width * 0.3));
    canvas.width = Math.round(size.width * ratio);
    canvas.height = Math.round(size.height * ratio);
    canvas.style.width = `${size.width}px`;
    canvas.style.height = `${size.height}px`;
    raster = null;
    timeline.ask();
  };

  timeline.restyle = () => {
    raster = look = null;
    timeline.ask();
  };

  timeline.draw = () => {
    ticks = null;
    if (size.width <= timeline.labels || size.height <= AXIS) return;
    const began = performance.now();
    look ??= lookOf();
    const { ratio } = size;
    const laneWidth = Math.round(canvas.width - timeline.labels * ratio);
    const laneHeight = Math.round(canvas.height - AXIS * ratio);
    raster ??= new Raster(context, laneWidth, laneHeight, look.ground);
    raster.clear();
    const visible = visibleRows();
    paintRows(visible, ratio, look);
    context.setTransform(1, 0, 0, 1, 0, 0);
    raster.show(canvas.width - laneWidth, canvas.height - laneHeight);
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    drawOnLanes(visible, look);
    drawLabels(visible, look);
    drawAxis(look);
    timeline.drawn++;
    timeline.cost = performance.now() - began;
  };

  function lookOf() {
    return {
      ground: pixel(styleColour("--ground")), band: pixel(styleColour("--band")),
      ghost: pixel(styleColour("--ghost")), grid: pixel(styleColour("--grid")), stripe: pixel(styleColour("--stripe")),
      ink: styleColour("--ink"), soft: styleColour("--soft"), line: styleColour("--line"),
      panel: styleColour("--panel"), accent: styleColour("--accent"), paper: styleColour("--ground"),
    };
  }

  function visibleRows() {
    const top = scroller.scrollTop;
    const first = Math.floor(top / ROW);
    const last = Math.min(Math.ceil((top + size.height - AXIS) / ROW), timeline.rows.size);
    return { first, last, top };
  }

  function paintRows({ first, last, top }, ratio, look) {
    for (let row = first; row < last; row++) {
      const y = Math.round((row * ROW - top) * ratio);
      const bottom = Math.round(((row + 1) * ROW - top) * ratio);
      if (entityNumber(row) % 2) raster.rectangle(0, raster.width, y, bottom, look.stripe);
      paintGrid(y, bottom, ratio, look);
      raster.background = entityNumber(row) % 2 ? look.stripe : look.ground;
      paintRow(row, y + Math.round(4 * ratio), bottom - Math.round(4 * ratio), look);
    }
    raster.background = look.ground;
  }

  function paintRow(row, top, bottom, look) {
    const kind = timeline.rows.kinds[row];
    const lane = timeline.rows.lanes[row];
    const set = setOf(model, kind);
    if (kind === EVENTS) return paintEvents(raster, set, lane, view, top, bottom, eventColour);
    const relation = set.relation[lane];
    if (kind === BAND) {
      const colour = pixel(timeline.colour(relation, set.value[lane] - 1));
      return paintBands(raster, set, lane, view, top - 3, bottom + 3, colour, look.band);
    }
    paintIntervals(raster, set, lane, view, top, bottom, laneColours(relation));
    if (model.ghosts.lanes.length) paintGhosts(lane, top - 2, bottom + 2, look);
  }

  function paintGhosts(lane, top, bottom, look) {
    const { lanes, starts, ends } = model.ghosts;
    for (let i = firstAfter(lanes, lane - 1, 0, lanes.length); lanes[i] === lane; i++) {
      paintGhost(raster, view, starts[i], ends[i], top, bottom, look.ghost);
    }
  }

  let pixels = new Map();
  let pixelsDark = null;
  function laneColours(relation) {
    if (pixelsDark !== isDark()) [pixels, pixelsDark] = [new Map(), isDark()];
    if (!pixels.has(relation)) pixels.set(relation, []);
    const known = pixels.get(relation);
    return (value) => (known[value] ??= pixel(timeline.colour(relation, value)));
  }

  function eventColour(kind) {
    if (filters.hiddenEvents.has(kind)) return undefined;
    return eventPixel(kind);
  }

  function eventPixel(kind) {
    if (pixelsDark !== isDark()) [pixels, pixelsDark] = [new Map(), isDark()];
    const key = `event${kind}`;
    if (!pixels.has(key)) pixels.set(key, []);
    return (pixels.get(key)[0] ??= pixel(timeline.eventColour(kind)));
  }

  timeline.eventColour = (kind) => paint(kind + model.meta.fluents.length + 3);

  // -- what is written on and beside the lanes -----------------------------------------------

  const x = (time) => timeline.labels + ((time - view.low) / (view.high - view.low)) * timeline.width();
  timeline.x = x;
  timeline.timeAt = (px) => view.low + ((px - timeline.labels) / timeline.width()) * (view.high - view.low);

  function drawOnLanes(visible, look) {
    context.save();
    context.beginPath();
    context.rect(timeline.labels, AXIS, timeline.width(), size.height - AXIS);
    context.clip();
    context.font = "11px system-ui, sans-serif";
    context.textBaseline = "middle";
    for (let row = visible.first; row < visible.last; row++) {
      const y = AXIS + row * ROW - visible.top;
      if (timeline.rows.kinds[row] === FLUENT) writeValues(row, y, look);
    }
    for (const mark of [timeline.hovered, timeline.selected]) if (mark) outline(mark, visible, look);
    context.restore();
  }

  function paintGrid(top, bottom, ratio, look) {
    for (const { time } of axisTicks()) {
      const left = Math.round((x(time) - timeline.labels) * ratio);
      raster.rectangle(left, left + 1, top, bottom, look.grid);
    }
  }

  let ticks = null;
  function axisTicks() {
    ticks ??= clock.ticksOf(view.low, view.high, Math.max(timeline.width() / 110, 2));
    return ticks.ticks;
  }

  /** Values are written into intervals with room for them, where they say more than `true`. */
  function writeValues(row, y, look) {
    const set = model.fluents;
    const lane = timeline.rows.lanes[row];
    if (set.value[lane]) return;
    let i = firstAfter(set.ends, view.low, set.offsets[lane], set.offsets[lane + 1]);
    const pixelsPerTime = timeline.width() / (view.high - view.low);
    for (let written = 0; i < set.offsets[lane + 1] && set.starts[i] < view.high && written < 60; i++, written++) {
      const text = model.values[set.values[i]];
      const left = Math.max(x(set.starts[i]), timeline.labels);
      const right = Math.min(x(set.ends[i]), size.width);
      if (text === "true" || right - left < 24 || (set.ends[i] - set.starts[i]) * pixelsPerTime < 24) continue;
      const shown = shorten(text, right - left - 10);
      context.fillStyle = isDark() ? "#10141c" : "#ffffff";
      if (shown) context.fillText(shown, left + 5, y + ROW / 2 + 0.5);
    }
  }

  function outline({ row, start, end }, { top }, look) {
    const y = AXIS + row * ROW - top;
    context.strokeStyle = look.ink;
    context.lineWidth = 1.5;
    const left = Math.max(x(start), timeline.labels - 4);
    const right = Math.min(Math.max(x(end), left + 3), size.width + 4);
    context.strokeRect(left - 1, y + 2.5, right - left + 1, ROW - 5);
  }

  const widths = new Map();
  function shorten(text, room) {
    if (!widths.has(text)) widths.set(text, context.measureText(text).width);
    if (widths.get(text) <= room) return text;
    const length = Math.floor((text.length * (room - 8)) / widths.get(text));
    return length > 1 ? `${text.slice(0, length)}…` : "";
  }

  function drawLabels(visible, look) {
    const { labels } = timeline;
    context.fillStyle = look.panel;
    context.fillRect(0, AXIS, labels, size.height);
    context.save();
    context.beginPath();
    context.rect(0, AXIS, labels - 6, size.height);
    context.clip();
    context.textBaseline = "middle";
    let written = -1;
    for (let row = visible.first; row < visible.last; row++) {
      const y = AXIS + row * ROW - visible.top;
      const entity = entityOf(row);
      const isFirst = row === 0 || entityOf(row - 1) !== entity;
      drawRule(row, y, isFirst, look);
      if (entity !== written) writeEntity(entity, row, y, visible, look);
      written = entity;
      writeTitle(row, y, look);
    }
    context.restore();
    context.fillStyle = look.line;
    context.fillRect(labels - 1, 0, 1, size.height);
  }

  function drawRule(row, y, isFirst, look) {
    if (timeline.selected?.row === row) {
      context.fillStyle = look.accent;
      context.fillRect(0, y + 3, 3, ROW - 6);
    }
    if (!isFirst || row === 0) return;
    context.fillStyle = look.line;
    context.fillRect(0, Math.round(y), timeline.labels, 1);
  }

  /** The name of an entity stays in sight while any of its rows is. */
  function writeEntity(entity, row, y, visible, look) {
    const isLast = row + 1 >= timeline.rows.size || entityOf(row + 1) !== entity;
    const place = isLast ? y : Math.max(y, AXIS);
    context.font = "600 12px system-ui, sans-serif";
    context.fillStyle = look.ink;
    context.fillText(shorten(nameOf(entity), timeline.labels * 0.4 - 16), 12, place + ROW / 2);
  }

  function nameOf(entity) {
    return model.entities[entity] || "all";
  }

  function writeTitle(row, y, look) {
    context.font = "12px system-ui, sans-serif";
    context.fillStyle = look.soft;
    context.fillText(shorten(titleOf(row), timeline.labels * 0.6 - 14), timeline.labels * 0.4, y + ROW / 2);
  }

  function titleOf(row) {
    const kind = timeline.rows.kinds[row];
    if (kind === EVENTS) return "events";
    return (kind === BAND ? "P " : "") + laneTitle(model, setOf(model, kind), timeline.rows.lanes[row]);
  }

  function entityOf(row) {
    return setOf(model, timeline.rows.kinds[row]).entity[timeline.rows.lanes[row]];
  }

  /** Rows of neighbouring entities have different grounds. */
  const entityNumber = (row) => entityOf(row);

  timeline.labelOf = (row) => `${nameOf(entityOf(row))} · ${titleOf(row)}`;
  timeline.entityOf = entityOf;

  function drawAxis(look) {
    context.fillStyle = look.panel;
    context.fillRect(0, 0, size.width, AXIS);
    context.fillStyle = look.line;
    context.fillRect(0, AXIS - 1, size.width, 1);
    const shown = axisTicks();
    context.textBaseline = "middle";
    context.font = "600 11px system-ui, sans-serif";
    context.fillStyle = look.ink;
    const zone = clock.dated ? model.meta.zone : "time-points";
    context.fillText(`${ticks.context}  ${zone}`.trim(), 12, AXIS / 2);
    context.save();
    context.beginPath();
    context.rect(timeline.labels, 0, timeline.width(), AXIS);
    context.clip();
    context.font = "11px system-ui, sans-serif";
    for (const { time, label } of shown) {
      context.fillStyle = look.line;
      context.fillRect(Math.round(x(time)), AXIS - 8, 1, 7);
      context.fillStyle = look.soft;
      context.fillText(label, Math.round(x(time)) + 4, AXIS / 2 - 1);
    }
    context.restore();
    drawCursor(look);
  }

  function drawCursor(look) {
    if (timeline.cursor === undefined) return;
    const place = Math.round(x(timeline.cursor));
    if (place < timeline.labels) return;
    context.fillStyle = look.accent;
    context.fillRect(place, 0, 1, size.height);
  }

  // -- what is at a place ----------------------------------------------------------------------

  timeline.rowAt = (y) => {
    const row = Math.floor((y - AXIS + scroller.scrollTop) / ROW);
    return y >= AXIS && row >= 0 && row < timeline.rows.size ? row : -1;
  };

  /** The interval, band or event at a place of the canvas; null if there is none. */
  timeline.at = (px, py) => {
    const row = timeline.rowAt(py);
    if (row < 0 || px < timeline.labels) return null;
    const kind = timeline.rows.kinds[row];
    const lane = timeline.rows.lanes[row];
    const set = setOf(model, kind);
    const near = 4 * ((view.high - view.low) / timeline.width());
    const place = kind === EVENTS ? nearestEvent(set, lane, timeline.timeAt(px), near)
      : nearestInterval(set, lane, timeline.timeAt(px), near);
    return place < 0 ? null : timeline.mark(row, place);
  };

  timeline.mark = (row, place) => {
    const kind = timeline.rows.kinds[row];
    const set = setOf(model, kind);
    const [start, end] = kind === EVENTS ? [set.times[place], set.times[place]] : [set.starts[place], set.ends[place]];
    return { row, kind, lane: timeline.rows.lanes[row], place, start, end };
  };

  function nearestEvent(set, lane, time, near) {
    const next = firstAfter(set.times, time, set.offsets[lane], set.offsets[lane + 1]);
    let best = -1;
    let least = near;
    for (let k = next - 8; k <= next + 8; k++) {
      if (k < set.offsets[lane] || k >= set.offsets[lane + 1] || filters.hiddenEvents.has(set.kinds[k])) continue;
      const distance = Math.abs(set.times[k] - time);
      if (distance <= least) [best, least] = [k, distance];
    }
    return best;
  }

  function nearestInterval(set, lane, time, near) {
    const next = firstAfter(set.ends, time, set.offsets[lane], set.offsets[lane + 1]);
    for (const k of [next, next - 1]) {
      if (k < set.offsets[lane] || k >= set.offsets[lane + 1]) continue;
      if (set.starts[k] - near <= time && time <= set.ends[k] + near) return k;
    }
    return -1;
  }

  /** Bring a row into sight. */
  timeline.reveal = (row) => {
    const top = row * ROW;
    const room = size.height - AXIS;
    if (top < scroller.scrollTop) scroller.scrollTop = top;
    else if (top + ROW > scroller.scrollTop + room) scroller.scrollTop = top + ROW - room;
    timeline.ask();
  };

  scroller.addEventListener("scroll", timeline.ask, { passive: true });
  view.onChange(timeline.ask);
  return timeline;
}
