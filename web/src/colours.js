// Colours of fluents, values and events, in a light and a dark tone each.

const LIGHT = ["#3b6fb6", "#d9822b", "#3f9f5f", "#c0504d", "#8067b7", "#2a9d9d", "#c4609c", "#8a7a3c",
  "#5b8dd6", "#e2a33c", "#6fb23f", "#e07a6e", "#a389d8", "#46b5c4", "#df8fbb", "#a8985a"];
const DARK = ["#6ea0e8", "#f0a458", "#67c287", "#ea7f7b", "#ab93e0", "#52c7c7", "#e68cc0", "#c2b06a",
  "#8fb8f5", "#f5c46f", "#98d36c", "#f5a69d", "#c5b1f0", "#7dd5e2", "#f3b6d6", "#d6c88f"];

export const isDark = () => document.documentElement.dataset.theme === "dark";

/** The colour of a number, in the theme that is on. */
export function paint(number) {
  const colours = isDark() ? DARK : LIGHT;
  return colours[number % colours.length];
}

/** Numbers for pairs: a fluent that is true or false has one colour, other values have their own. */
export function makePalette(model) {
  const codes = new Map();
  let values = null;
  let trueCode = -1;
  let perFluent = [];
  return (relation, value) => {
    if (values !== model.values) {
      values = model.values;
      trueCode = values.indexOf("true");
      perFluent = model.meta.fluents.map(() => new Map());
    }
    const fluent = model.meta.fluents[relation];
    if (value === trueCode && !fluent.many) return relation;
    const key = model.values[value];
    if (!codes.has(key)) codes.set(key, codes.size);
    const known = perFluent[relation];
    if (!known.has(value)) known.set(value, model.meta.fluents.length + codes.get(key));
    return known.get(value);
  };
}

/** A colour as the number that a pixel of an image takes. */
export function pixel(colour) {
  const number = parseInt(colour.slice(1), 16);
  const [red, green, blue] = [(number >> 16) & 255, (number >> 8) & 255, number & 255];
  return ((255 << 24) | (blue << 16) | (green << 8) | red) >>> 0;
}

/** A pixel between two others: all of the second at share 1. */
export function blend(below, above, share) {
  if (share >= 1) return above;
  const mix = (shift) => {
    const low = (below >> shift) & 255;
    return Math.round(low + (((above >> shift) & 255) - low) * share) << shift;
  };
  return ((255 << 24) | mix(16) | mix(8) | mix(0)) >>> 0;
}

/** The colour that the style of the page gives to a name. */
export function styleColour(name) {
  return getComputedStyle(document.documentElement).getPropertyValue(name).trim();
}
