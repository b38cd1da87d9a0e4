// Times: exact texts in the zone of the data, and the ticks of the axis.

import { ticks as wholeTicks } from "d3-array";
import { utcTicks } from "d3-time";

const UNITS = { s: 1000, ms: 1, us: 1e-3, ns: 1e-6 };
const PER_SECOND = { s: 1n, ms: 1000n, us: 1000000n, ns: 1000000000n };

/** Texts and ticks for times that are counted from a base in a unit. */
export function makeClock({ base, unit, zone, dated, shift }) {
  const origin = BigInt(base);
  const grain = 2 ** shift;
  const milliseconds = UNITS[unit] * grain;
  const originMs = Number(origin) * UNITS[unit];
  const offsetAt = zoneOffset(zone);
  const toMs = (time) => originMs + time * milliseconds;

  /** The exact time; `rest` is what the number could not hold. */
  function exact(time, rest = 0) {
    const whole = origin + BigInt(Math.round(time)) * BigInt(grain) + BigInt(rest);
    return dated ? isoText(whole, PER_SECOND[unit], offsetAt, zone) : whole.toString();
  }

  /** Round times in a view, with what to write at them, and what to write above all. */
  function ticksOf(low, high, count) {
    if (!dated) return { ticks: numberTicks(low, high, count), context: "" };
    return dateTicks(low, high, count);
  }

  function numberTicks(low, high, count) {
    const first = Number(origin);
    return wholeTicks(low + first, high + first, count)
      .filter(Number.isInteger)
      .map((each) => ({ time: each - first, label: each.toLocaleString("en") }));
  }

  function dateTicks(low, high, count) {
    const span = toMs(high) - toMs(low);
    const offset = offsetAt(toMs((low + high) / 2));
    const [from, to] = [toMs(low) + offset, toMs(high) + offset];
    const context = dayText(new Date(from), span);
    if (span < 20) return { ticks: fineTicks(low, high, count, offset), context };
    const dates = utcTicks(new Date(from), new Date(to), count);
    const step = dates.length > 1 ? dates[1] - dates[0] : span;
    const ticks = dates.map((date) => {
      const there = date.getTime();
      const ms = there - offsetAt(there - offset);
      return { time: (ms - originMs) / milliseconds, label: dateLabel(date, step) };
    });
    return { ticks, context };
  }

  function fineTicks(low, high, count, offset) {
    return wholeTicks(low, high, count).filter(Number.isInteger).map((time) => {
      const text = exact(time);
      const fraction = text.match(/\.\d+/)?.[0] ?? "";
      const date = new Date(toMs(time) + offset);
      return { time, label: `:${String(date.getUTCSeconds()).padStart(2, "0")}${fraction}` };
    });
  }

  return { exact, ticksOf, duration: (length) => durationText(length, dated, milliseconds), dated, toMs };
}

const pad = (number, width = 2) => String(number).padStart(width, "0");
const MONTHS = "Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec".split(" ");

function dateLabel(date, step) {
  const clock = `${pad(date.getUTCHours())}:${pad(date.getUTCMinutes())}`;
  const isMidnight = date.getTime() % 86400000 === 0;
  if (step < 1000) return `${clock}:${pad(date.getUTCSeconds())}.${pad(date.getUTCMilliseconds(), 3)}`;
  if (step < 60000) return `${clock}:${pad(date.getUTCSeconds())}`;
  if (!isMidnight) return clock;
  if (date.getUTCDate() !== 1) return `${date.getUTCDate()} ${MONTHS[date.getUTCMonth()]}`;
  return date.getUTCMonth() ? `${MONTHS[date.getUTCMonth()]} ${date.getUTCFullYear()}` : pad(date.getUTCFullYear(), 4);
}

function dayText(date, span) {
  const day = `${date.getUTCDate()} ${MONTHS[date.getUTCMonth()]} ${date.getUTCFullYear()}`;
  if (span > 40 * 86400000) return String(date.getUTCFullYear());
  return span < 1000 ? `${day} ${pad(date.getUTCHours())}:${pad(date.getUTCMinutes())}` : day;
}

function isoText(ticks, perSecond, offsetAt, zone) {
  let seconds = ticks / perSecond;
  let fraction = ticks % perSecond;
  if (fraction < 0n) [seconds, fraction] = [seconds - 1n, fraction + perSecond];
  const ms = Number(seconds) * 1000;
  if (!Number.isFinite(ms) || Math.abs(ms) > 8e15) return ticks.toString();
  const offset = offsetAt(ms);
  const date = new Date(ms + offset).toISOString().replace("T", " ").replace(/\.\d+Z$/, "");
  const digits = perSecond > 1n ? "." + fraction.toString().padStart(perSecond.toString().length - 1, "0") : "";
  return `${date}${digits} ${zone === "UTC" ? "UTC" : offsetText(offset)}`;
}

function offsetText(offset) {
  const minutes = Math.round(Math.abs(offset) / 60000);
  return `${offset < 0 ? "−" : "+"}${pad(Math.floor(minutes / 60))}:${pad(minutes % 60)}`;
}

/** A function that says how far local time is ahead of UTC, in milliseconds. */
function zoneOffset(zone) {
  const fixed = /^([+-])(\d\d):?(\d\d)$/.exec(zone);
  if (fixed) {
    const ahead = (Number(fixed[2]) * 60 + Number(fixed[3])) * 60000 * (fixed[1] === "-" ? -1 : 1);
    return () => ahead;
  }
  if (zone === "UTC" || zone === "Z") return () => 0;
  const format = new Intl.DateTimeFormat("en-US", {
    timeZone: zone, hourCycle: "h23", year: "numeric", month: "numeric", day: "numeric",
    hour: "numeric", minute: "numeric", second: "numeric", era: "short",
  });
  const known = new Map();
  return (ms) => {
    const hour = Math.floor(ms / 900000);
    if (!known.has(hour)) known.set(hour, offsetOf(format, hour * 900000));
    return known.get(hour);
  };
}

function offsetOf(format, ms) {
  const parts = Object.fromEntries(format.formatToParts(new Date(ms)).map((p) => [p.type, p.value]));
  const year = parts.era === "BC" ? 1 - parts.year : Number(parts.year);
  const date = new Date(0);
  date.setUTCFullYear(year, parts.month - 1, parts.day);
  date.setUTCHours(parts.hour, parts.minute, parts.second);
  return date.getTime() - ms;
}

const STEPS = [["d", 86400], ["h", 3600], ["min", 60], ["s", 1]];

function durationText(length, dated, milliseconds) {
  if (!dated) return `${length.toLocaleString("en")} time-points`;
  let seconds = (length * milliseconds) / 1000;
  if (seconds < 1) return seconds >= 1e-3 ? `${+(seconds * 1e3).toFixed(6)} ms` : `${+(seconds * 1e6).toFixed(3)} µs`;
  const parts = [];
  for (const [name, size] of STEPS) {
    const count = name === "s" ? +seconds.toFixed(3) : Math.floor(seconds / size);
    if (count && parts.length < 3) parts.push(`${count} ${name}`);
    seconds -= Math.floor(seconds / size) * size;
  }
  return parts.join(" ");
}
