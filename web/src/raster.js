// Draws rows of intervals, bands and events into the pixels of an image. A column of pixels costs the
// same whether one interval lies in it or a thousand: what it covers is known from running totals.

import { blend } from "./colours.js";
import { firstAfter, nextAfter } from "./search.js";

/** An image to be drawn into row by row. */
export class Raster {
  constructor(context, width, height, background) {
    this.context = context;
    this.width = width;
    this.height = height;
    this.image = context.createImageData(width, height);
    this.pixels = new Uint32Array(this.image.data.buffer);
    this.background = background;
    this.clear();
  }

  clear() {
    this.pixels.fill(this.background);
  }

  show(x, y) {
    this.context.putImageData(this.image, x, y);
  }

  /** A filled rectangle, cut to the image. */
  rectangle(left, right, top, bottom, colour) {
    left = Math.max(left, 0);
    right = Math.min(right, this.width);
    for (let y = Math.max(top, 0); y < Math.min(bottom, this.height); y++) {
      if (right > left) this.pixels.fill(colour, y * this.width + left, y * this.width + right);
    }
  }

  /** Repeat the pixels of a line downward. */
  repeat(top, bottom) {
    const from = Math.max(top, 0);
    for (let y = from + 1; y < Math.min(bottom, this.height); y++) {
      this.pixels.copyWithin(y * this.width, from * this.width, (from + 1) * this.width);
    }
  }
}

/** Paints a lane of intervals on one line of pixels, which `repeat` then makes a row of. */
export function paintIntervals(raster, set, lane, view, top, bottom, colourOf) {
  const line = Math.max(top, 0);
  if (line >= Math.min(bottom, raster.height)) return;
  const { pixels, width, background } = raster;
  const { starts, ends, totals, values } = set;
  const last = set.offsets[lane + 1];
  const scale = width / (view.high - view.low);
  const perColumn = 1 / scale;
  const at = line * width;
  let i = firstAfter(ends, view.low, set.offsets[lane], last);
  while (i < last && starts[i] < view.high) {
    const from = (starts[i] - view.low) * scale;
    const to = (ends[i] - view.low) * scale;
    if (to - from >= 1.5) {
      const left = Math.max(Math.round(from), 0);
      const right = Math.min(Math.max(Math.round(to) - (to - from > 6 ? 1 : 0), left + 1), width);
      if (right > left) pixels.fill(colourOf(values[i], i), at + left, at + right);
      i++;
      continue;
    }
    const column = Math.max(Math.floor(from), 0);
    const next = nextAfter(starts, view.low + (column + 1) * perColumn, i + 1, last);
    const share = 0.45 + 0.55 * Math.min((totals[next] - totals[i]) / perColumn, 1);
    if (column < width) pixels[at + column] = blend(background, colourOf(values[i], i), share);
    i = next;
  }
  raster.repeat(line, bottom);
}

/** Paints bands of probability: as high as likely, on a ground that shows where 1 would be. */
export function paintBands(raster, set, lane, view, top, bottom, colour, ground) {
  const { width } = raster;
  const { starts, ends, chances, totals } = set;
  const last = set.offsets[lane + 1];
  const scale = width / (view.high - view.low);
  let i = firstAfter(ends, view.low, set.offsets[lane], last);
  while (i < last && starts[i] < view.high) {
    let left = Math.max(Math.floor((starts[i] - view.low) * scale), 0);
    let right = Math.min(Math.floor((ends[i] - view.low) * scale), width);
    let chance = chances[i];
    let next = i + 1;
    if (right <= left) {
      right = left + 1;
      next = nextAfter(starts, view.low + right / scale, i + 1, last);
      const length = ends[next - 1] - starts[i];
      chance = length > 0 ? (totals[next] - totals[i]) / length : chance;
    }
    const rise = Math.max(Math.round((bottom - top) * chance), 1);
    raster.rectangle(left, right, top, bottom - rise, ground);
    raster.rectangle(left, right, bottom - rise, bottom, colour);
    i = next;
  }
}

/**
 * Paints the events of a lane as marks; `colourOf` gives nothing for kinds that are hidden. The lines
 * are painted on one line of pixels, which `repeat` then makes a row of; diamonds come on top.
 */
export function paintEvents(raster, set, lane, view, top, bottom, colourOf) {
  const line = Math.max(top, 0);
  if (line >= Math.min(bottom, raster.height)) return;
  const { pixels, width } = raster;
  const at = line * width;
  const diamonds = [];
  const { times, kinds } = set;
  const last = set.offsets[lane + 1];
  const scale = width / (view.high - view.low);
  let i = firstAfter(times, view.low - 4 / scale, set.offsets[lane], last);
  while (i < last && times[i] <= view.high + 4 / scale) {
    const x = Math.floor((times[i] - view.low) * scale);
    const next = nextAfter(times, view.low + (x + 1) / scale, i + 1, last);
    let colour;
    for (let k = i; k < next && colour === undefined && k < i + 64; k++) colour = colourOf(kinds[k]);
    if (colour !== undefined) {
      if (x >= 0 && x < width) pixels[at + x] = colour;
      if (next >= last || (times[next] - times[i]) * scale > 8) diamonds.push(x, colour);
    }
    i = next;
  }
  raster.repeat(line, bottom);
  const middle = (top + bottom) >> 1;
  for (let k = 0; k < diamonds.length; k += 2) paintDiamond(raster, diamonds[k], middle, diamonds[k + 1]);
}

/** A mark of an event that has room to both sides. */
function paintDiamond(raster, x, middle, colour) {
  for (let dy = -3; dy <= 3; dy++) {
    const half = 3 - Math.abs(dy);
    raster.rectangle(x - half, x + half + 1, middle + dy, middle + dy + 1, colour);
  }
}

/** Hatches a stretch that a later query has corrected. */
export function paintGhost(raster, view, start, end, top, bottom, colour) {
  const scale = raster.width / (view.high - view.low);
  const left = Math.round((start - view.low) * scale);
  const right = Math.max(Math.round((end - view.low) * scale), left + 2);
  if (right < 0 || left > raster.width) return;
  raster.rectangle(left, right, top, top + 1, colour);
  raster.rectangle(left, right, bottom - 1, bottom, colour);
  for (let x = Math.max(left, 0); x < Math.min(right, raster.width); x++) {
    for (let y = top; y < bottom; y++) if ((x + y) % 5 === 0) raster.rectangle(x, x + 1, y, y + 1, colour);
  }
}
