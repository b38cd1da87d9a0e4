// Mouse, wheel and keys on the timeline.

import { AXIS } from "./timeline.js";
import { firstAfter } from "./search.js";
import { EVENTS, setOf } from "./rows.js";

/** Lets the timeline be dragged, zoomed and walked through; `on` is told what is hovered or chosen. */
export function listen(elements, model, timeline, view, on) {
  const { scroller, canvas, selection } = elements;
  let drag = null;

  const place = (event) => {
    const box = canvas.getBoundingClientRect();
    return [event.clientX - box.left, event.clientY - box.top];
  };

  canvas.addEventListener("pointerdown", (event) => {
    if (event.button !== 0) return;
    const [x, y] = place(event);
    canvas.setPointerCapture(event.pointerId);
    const selects = event.shiftKey || y < AXIS;
    drag = { x, y, low: view.low, high: view.high, top: scroller.scrollTop, selects, moved: false };
    scroller.focus({ preventScroll: true });
  });

  canvas.addEventListener("pointermove", (event) => {
    const [x, y] = place(event);
    if (!drag) return hover(x, y, event);
    drag.moved ||= Math.abs(x - drag.x) + Math.abs(y - drag.y) > 3;
    if (!drag.moved) return;
    on.hover(null);
    if (drag.selects) showSelection(drag.x, x);
    else pan(x, y);
  });

  canvas.addEventListener("pointerup", (event) => {
    const [x, y] = place(event);
    selection.hidden = true;
    const last = drag;
    drag = null;
    if (!last) return;
    if (last.moved && last.selects) zoomTo(last.x, x);
    else if (!last.moved) on.choose(timeline.at(x, y), timeline.rowAt(y));
  });

  canvas.addEventListener("pointerleave", () => on.hover(null));
  canvas.addEventListener("dblclick", (event) => {
    const mark = timeline.at(...place(event));
    if (mark) view.showInterval(mark.start, mark.end);
    else view.zoom(0.5, timeline.timeAt(place(event)[0]));
  });

  function hover(x, y, event) {
    timeline.cursor = x >= timeline.labels ? timeline.timeAt(x) : undefined;
    on.hover(timeline.at(x, y), event.clientX, event.clientY, x < timeline.labels ? timeline.rowAt(y) : -1);
    timeline.ask();
  }

  function pan(x, y) {
    const way = ((drag.x - x) / timeline.width()) * (drag.high - drag.low);
    scroller.scrollTop = drag.top + drag.y - y;
    view.set(drag.low + way, drag.high + way);
  }

  function showSelection(from, to) {
    const left = Math.max(Math.min(from, to), timeline.labels);
    selection.hidden = false;
    selection.style.left = `${left}px`;
    selection.style.width = `${Math.max(from, to) - left}px`;
  }

  function zoomTo(from, to) {
    const [low, high] = [Math.min(from, to), Math.max(from, to)].map(timeline.timeAt);
    if (high > low) view.set(low, high);
  }

  scroller.addEventListener("wheel", (event) => {
    if (event.ctrlKey || event.metaKey) {
      event.preventDefault();
      view.zoom(Math.exp(Math.max(Math.min(event.deltaY, 120), -120) * 0.004), timeline.timeAt(place(event)[0]));
    } else if (event.shiftKey || Math.abs(event.deltaX) > Math.abs(event.deltaY)) {
      event.preventDefault();
      view.pan((event.deltaX || event.deltaY) / timeline.width());
    }
  }, { passive: false });

  scroller.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const action = keys[event.key] ?? keys[event.key.toLowerCase()];
    if (!action) return;
    event.preventDefault();
    action();
  });

  const keys = {
    ArrowLeft: () => view.pan(-0.1), a: () => view.pan(-0.1),
    ArrowRight: () => view.pan(0.1), d: () => view.pan(0.1),
    "+": () => view.zoom(0.7), "=": () => view.zoom(0.7), w: () => view.zoom(0.7),
    "-": () => view.zoom(1 / 0.7), s: () => view.zoom(1 / 0.7),
    Home: () => view.all(), 0: () => view.all(),
    ArrowDown: () => chooseRow(1), ArrowUp: () => chooseRow(-1),
    PageDown: () => (scroller.scrollTop += scroller.clientHeight * 0.8),
    PageUp: () => (scroller.scrollTop -= scroller.clientHeight * 0.8),
    n: () => chooseNext(1), ".": () => chooseNext(1),
    p: () => chooseNext(-1), ",": () => chooseNext(-1),
    Enter: () => timeline.selected && view.showInterval(timeline.selected.start, timeline.selected.end),
    Escape: () => on.choose(null, -1),
  };

  /** The next or previous interval of the lane of the one that is chosen. */
  function chooseNext(way) {
    const chosen = timeline.selected;
    if (!chosen) return chooseRow(1);
    const set = setOf(model, chosen.kind);
    const next = chosen.place + way;
    if (next < set.offsets[chosen.lane] || next >= set.offsets[chosen.lane + 1]) return undefined;
    return choose(chosen.row, next);
  }

  function chooseRow(way) {
    const from = timeline.selected?.row ?? (way > 0 ? -1 : timeline.rows.size);
    const row = from + way;
    if (row < 0 || row >= timeline.rows.size) return;
    const kind = timeline.rows.kinds[row];
    const set = setOf(model, kind);
    const lane = timeline.rows.lanes[row];
    const times = kind === EVENTS ? set.times : set.ends;
    const around = timeline.selected?.start ?? view.low;
    const found = firstAfter(times, around, set.offsets[lane], set.offsets[lane + 1]);
    choose(row, Math.min(found, set.offsets[lane + 1] - 1));
  }

  function choose(row, number) {
    const mark = timeline.mark(row, number);
    timeline.reveal(row);
    if (mark.end < view.low || mark.start > view.high) {
      const width = view.high - view.low;
      view.set(mark.start - width * 0.3, mark.start + width * 0.7);
    }
    on.choose(mark, row);
  }
}
