// The stretch of time that is shown, and who is told when it changes.

/** A view over [start, end], which cannot leave it by more than a little. */
export function makeView(start, end) {
  const span = Math.max(end - start, 1);
  const bounds = { low: start - span * 0.02, high: end + span * 0.02 };
  const listeners = [];
  const view = { low: bounds.low, high: bounds.high, bounds };

  view.onChange = (listener) => listeners.push(listener);

  view.set = (low, high) => {
    const width = Math.min(Math.max(high - low, 1e-3), bounds.high - bounds.low);
    const middle = (low + high) / 2;
    view.low = Math.min(Math.max(middle - width / 2, bounds.low), bounds.high - width);
    view.high = view.low + width;
    for (const listener of listeners) listener(view);
  };

  view.pan = (share) => {
    const way = (view.high - view.low) * share;
    view.set(view.low + way, view.high + way);
  };

  /** Zoom around a point that stays where it is; a factor below 1 shows less. */
  view.zoom = (factor, around = (view.low + view.high) / 2) => {
    const least = Math.max(factor, 2 / (view.high - view.low));
    const scale = factor < 1 ? Math.min(least, 1) : factor;
    view.set(around - (around - view.low) * scale, around + (view.high - around) * scale);
  };

  view.all = () => view.set(bounds.low, bounds.high);

  view.showInterval = (from, to) => {
    const margin = Math.max((to - from) * 0.4, 2);
    view.set(from - margin, to + margin);
  };

  /** Times are counted from another base. */
  view.shift = (by) => {
    const wasFirst = view.low <= bounds.low + 1e-9;
    bounds.low += by;
    bounds.high += by;
    view.low += by;
    view.high += by;
    bounds.low = Math.min(bounds.low, 0);
    if (wasFirst) view.low = bounds.low;
  };

  /** The end of the data has moved: a view that showed it goes along. */
  view.extend = (newEnd) => {
    const followed = view.high >= bounds.high - 1e-9;
    const wasAll = followed && view.low <= bounds.low + 1e-9;
    bounds.high = newEnd + (newEnd - bounds.low) * 0.02;
    if (!followed) return;
    const width = wasAll ? bounds.high - bounds.low : view.high - view.low;
    view.set(bounds.high - width, bounds.high);
  };
  return view;
}
