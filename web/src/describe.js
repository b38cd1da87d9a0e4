// What there is to say about an interval, a band or an event: when, how long, and why.

import { make } from "./dom.js";
import { pairText } from "./model.js";
import { BAND, EVENTS } from "./rows.js";
import { firstAfter } from "./search.js";

/** Makes a function from a mark to the elements that describe it. */
export function makeDescriber(model, clock, timeline) {
  return (mark, isWhole) => {
    if (mark.kind === EVENTS) return describeEvent(mark);
    return mark.kind === BAND ? describeBand(mark) : describeInterval(mark, isWhole);
  };

  function describeInterval({ lane, place, start, end }, isWhole) {
    const set = model.fluents;
    const value = set.values[place];
    const isOpen = set.open.has(place);
    const lines = [
      title(pairText(model, set, lane, model.values[value]), () => timeline.colour(set.relation[lane], value),
        model.meta.fluents[set.relation[lane]].input ? "input" : ""),
      facts([
        ["from", clock.exact(start, model.exactRest.start?.[place])],
        ["until", isOpen ? "still open" : clock.exact(end, model.exactRest.end?.[place])],
        ["lasts", clock.duration(end - start) + (isOpen ? " so far" : "")],
        ["mean probability", set.chances && !Number.isNaN(set.chances[place]) ? set.chances[place].toFixed(4) : null],
      ]),
    ];
    lines.push(...causesOf(lane, place, isOpen), ...correctionsOf(lane, start, end));
    const explanation = isWhole && model.explanations.get(place);
    if (explanation) lines.push(make("pre", { class: "explanation" }, explanation));
    return lines;
  }

  function describeBand({ lane, place, start, end }) {
    const set = model.bands;
    const value = set.value[lane] - 1;
    return [
      title(pairText(model, set, lane, model.values[value]), () => timeline.colour(set.relation[lane], value)),
      facts([
        ["probability", set.chances[place].toFixed(6)],
        ["from", clock.exact(start)],
        ["until", clock.exact(end)],
        ["lasts", clock.duration(end - start)],
      ]),
      ...(model.bandCauses ? cause("changed", model.bandCauses.rules[place], model.bandCauses.events[place] - 1, -1) : []),
    ];
  }

  function describeEvent({ place, start }) {
    const kind = model.events.kinds[place];
    const entry = model.meta.events[kind];
    return [
      title(entry.name, () => timeline.eventColour(kind), entry.derived ? "derived event" : "event"),
      facts([["at", clock.exact(start, model.exactRest.event?.[place])], ...attributesOf(model, place)]),
    ];
  }

  function causesOf(lane, place, isOpen) {
    const { causes } = model;
    if (!causes) return [];
    const entries = [["began", causes.beginRule, causes.beginEvent]];
    if (!isOpen) entries.push(["ended", causes.endRule, causes.endEvent]);
    return entries.flatMap(([verb, rules, events]) => cause(verb, rules[place], events[place] - 1, place));
  }

  /** A line about a cause: the rule, by its number from 1, and the event or interval. */
  function cause(verb, ruleNumber, event, place) {
    const rule = model.meta.rules[ruleNumber - 1];
    const by = rule ? `by the rule at ${rule.place}` : "";
    const record = event >= 0 ? recordText(event, place) : "";
    if (!by && !record) return [];
    return [make("p", { class: "cause" }, make("b", {}, `${verb} `), [by, record].filter(Boolean).join(", from "))];
  }

  /** The event or the interval of an input fluent that a cause is; not an interval for itself. */
  function recordText(number, place) {
    const count = model.events.times.length;
    if (number < count) return eventText(model, clock, number);
    const cause = number - count;
    if (cause === place) return "";
    const set = model.fluents;
    const lane = firstAfter(set.offsets, cause, 0, set.offsets.length) - 1;
    const until = set.open.has(cause) ? "" : ` until ${clock.exact(set.ends[cause])}`;
    return `${pairText(model, set, lane, model.values[set.values[cause]])} since ${clock.exact(set.starts[cause])}${until}`;
  }

  function correctionsOf(lane, start, end) {
    const { lanes, starts, ends, added, query } = model.ghosts;
    const texts = [];
    for (let i = firstAfter(lanes, lane - 1, 0, lanes.length); lanes[i] === lane; i++) {
      if (starts[i] >= end || ends[i] <= start) continue;
      const verb = added[i] ? "added" : "taken back";
      texts.push(`${clock.exact(starts[i])} to ${clock.exact(ends[i])}: ${verb} by the query at ${clock.exact(query[i])}`);
    }
    if (!texts.length) return [];
    return [make("p", { class: "corrected" }, make("b", {}, "corrected "), texts.slice(0, 3).join("; "))];
  }
}

/** A heading with a swatch, whose colour follows the theme. */
function title(text, colour, note) {
  const swatch = make("i", { class: "swatch", "data-swatch": "" });
  swatch.repaint = () => (swatch.style.background = colour());
  swatch.repaint();
  return make("h3", {}, swatch, text, note ? make("small", {}, ` ${note}`) : null);
}

function facts(rows) {
  return make("dl", {}, ...rows.filter(([, text]) => text !== null && text !== undefined).flatMap(
    ([name, text]) => [make("dt", {}, name), make("dd", {}, String(text))]));
}

/** The names and values of the arguments of an event. */
export function attributesOf(model, place) {
  const kind = model.events.kinds[place];
  const row = model.rowOfEvent[place];
  return model.meta.events[kind].columns.map((name, column) => {
    if (column === 0) return [name, entityOfEvent(model, place)];
    const texts = model.attributeTexts(kind, column);
    const value = model.attribute(kind, column)[row];
    return [name, texts ? texts[value] : value];
  });
}

/** The entity of an event is its first argument. */
function entityOfEvent({ events, entities }, place) {
  return entities[events.entity[firstAfter(events.offsets, place, 0, events.offsets.length) - 1]];
}

/** An event on one line. */
export function eventText(model, clock, place) {
  const event = model.meta.events[model.events.kinds[place]];
  const values = attributesOf(model, place).map(([, value]) => value);
  const chance = event.uncertain ? `, whose probability is ${values.pop()}` : "";
  return `${event.name}(${values.join(", ")}) at ${clock.exact(model.events.times[place])}${chance}`;
}
