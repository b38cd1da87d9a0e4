// The data of a page: base64 of a zlib stream of columns, as cernis/pages/payload.py writes them.

/** Reads the data that stands in the page, in the element of this id. */
export async function readEmbedded(id) {
  const text = document.getElementById(id).textContent.trim();
  return decodePayload(await inflate(fromBase64(text)));
}

function fromBase64(text) {
  if (Uint8Array.fromBase64) return Uint8Array.fromBase64(text);
  const binary = atob(text);
  const bytes = new Uint8Array(binary.length);
  for (let i = 0; i < binary.length; i++) bytes[i] = binary.charCodeAt(i);
  return bytes;
}

/** Undoes zlib's compression. */
export async function inflate(bytes) {
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
  return new Uint8Array(await new Response(stream).arrayBuffer());
}

/** The facts about the page and its columns by name. */
export function decodePayload(bytes) {
  const headLength = new DataView(bytes.buffer, bytes.byteOffset).getUint32(0, true);
  const head = JSON.parse(new TextDecoder().decode(bytes.subarray(4, 4 + headLength)));
  const columns = {};
  let at = 4 + headLength;
  for (const column of head.columns) {
    columns[column.name] = decodeColumn(column, bytes.subarray(at, at + column.size));
    at += column.size;
  }
  return { meta: head.meta, columns };
}

function decodeColumn(column, bytes) {
  if (column.kind === "texts") return JSON.parse(new TextDecoder().decode(bytes));
  if (column.kind === "floats") return decodeFloats(column, bytes);
  return decodeWholeNumbers(column, bytes);
}

/** The bytes of one significance stand together: first all lowest bytes, then the next ones. */
function decodeWholeNumbers({ count, width, low }, bytes) {
  const isSmall = width < 4 && Math.abs(low) < 2 ** 30;
  const numbers = isSmall ? new Int32Array(count) : new Float64Array(count);
  let factor = 1;
  for (let plane = 0; plane < width; plane++, factor *= 256) {
    const first = plane * count;
    for (let i = 0; i < count; i++) numbers[i] += bytes[first + i] * factor;
  }
  if (low) for (let i = 0; i < count; i++) numbers[i] += low;
  return numbers;
}

function decodeFloats({ count, width }, bytes) {
  const mixed = new Uint8Array(count * width);
  for (let plane = 0; plane < width; plane++) {
    const first = plane * count;
    for (let i = 0; i < count; i++) mixed[i * width + plane] = bytes[first + i];
  }
  return width === 4 ? new Float32Array(mixed.buffer) : new Float64Array(mixed.buffer);
}
