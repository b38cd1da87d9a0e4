// Elements made from code: texts are always texts and never markup.

/** An element with attributes, properties and children; strings become text. */
export function make(name, attributes = {}, ...children) {
  const element = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (key.startsWith("on")) element.addEventListener(key.slice(2), value);
    else if (key === "style") element.style.cssText = value;
    else if (value === true) element.setAttribute(key, "");
    else if (value !== false && value !== undefined) element.setAttribute(key, value);
  }
  element.append(...children.filter((each) => each !== null && each !== undefined));
  return element;
}

export const $ = (id) => document.getElementById(id);

/** A table of rows of texts under titles; numbers stand to the right. */
export function table(titles, rows, classes = "") {
  const cell = (text, kind) => {
    const isNumber = typeof text === "number";
    const shown = isNumber ? text.toLocaleString("en") : text;
    return make(kind, isNumber ? { class: "number" } : {}, shown instanceof Node ? shown : String(shown));
  };
  return make("table", { class: classes },
    make("thead", {}, make("tr", {}, ...titles.map((title) => cell(title, "th")))),
    make("tbody", {}, ...rows.map((row) => make("tr", {}, ...row.map((text) => cell(text, "td"))))));
}
