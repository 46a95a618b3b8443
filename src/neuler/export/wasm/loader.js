/* $comment */

const about = $data;

/* A function of arrays from the module's bytes, its address, a response or a compiled module; without one it is
   $file beside this script. */
export async function load(source = new URL(`./${about.name}.wasm`, import.meta.url)) {
  const module = source instanceof WebAssembly.Module ? source : await WebAssembly.compile(await bytes(await source));
  const marks = WebAssembly.Module.customSections(module, "neuler").map((part) => hex(new Uint8Array(part)));
  if (marks[0] !== "$mark") {
    throw new Error(`${about.name}: the module is of another function, robot or version than this script: ` +
      "use $file that was written with it, and look for an old one in the browser's cache");
  }
  const { exports } = await WebAssembly.instantiate(module, { math: Math });
  const call = (...given) => computed(exports, given, false);
  return Object.assign(call, {
    batch: (...given) => computed(exports, given, true), inputs: about.inputs, outputs: about.outputs, exports,
  });
}

export default load;

const hex = (numbers) => Array.from(numbers, (x) => x.toString(16).padStart(2, "0")).join("");

async function bytes(source) {
  if (source instanceof ArrayBuffer || ArrayBuffer.isView(source)) return source;
  if (typeof source?.arrayBuffer === "function") {
    if (source.ok === false) throw new Error(`${about.name}: ${source.url} was not found (${source.status})`);
    return source.arrayBuffer();
  }
  if (typeof source !== "string" && !(source instanceof URL)) {
    throw new TypeError(`${about.name}: load takes bytes, an address, a response or a module of WebAssembly`);
  }
  const file = String(source).startsWith("file:") || !/^[a-z]+:/i.test(String(source));
  if (typeof process === "object" && process.versions?.node && file) {
    const files = "node:fs/promises";  // Node's own, none of a bundler's
    return (await import(/* webpackIgnore: true */ /* @vite-ignore */ files)).readFile(source);
  }
  return bytes(await fetch(source));
}

const gone = (buffer) => {
  try { return !new Uint8Array(buffer); } catch { return true; }
};

/* All numbers of an argument in one row; of nested arrays the innermost ones have the length of the last axis. */
function flat(operand, value) {
  const { name, shape } = operand, view = (x) => ArrayBuffer.isView(x) && !(x instanceof DataView);
  const refuse = (got) => {
    const one = shape.length ? `${name}${shape.map((n) => `[${n}]`).join("")}` : "one number";
    throw new TypeError(`${about.name}: ${name} must hold numbers, ${one} for each state, got ${got}`);
  };
  const rows = (x) => {
    if (Array.isArray(x) && (view(x[0]) || Array.isArray(x[0]))) return x.flatMap(rows);
    if (!Array.isArray(x) && !view(x)) refuse(`${x === null ? "null" : typeof x} in the place of a row`);
    if (x.length !== shape[shape.length - 1]) refuse(`a row of length ${x.length}`);
    return [...x];
  };
  if (typeof value === "number") return [value];
  if (view(value) && !value.length && gone(value.buffer)) refuse("an array whose buffer was transferred");
  if (view(value) && typeof value[0] !== "bigint") return value;
  if (!Array.isArray(value)) refuse(view(value) ? "whole numbers of 64 bits" : value === null ? "null" : typeof value);
  const found = Array.isArray(value[0]) || view(value[0]) ? rows(value) : value;
  for (let k = 0; k < found.length; k++) {
    if (typeof found[k] !== "number") refuse(`${found[k] === null ? "null" : typeof found[k]} at place ${k}`);
  }
  return found;
}

/* Arguments in the order of the inputs: as they are, or out of one object by name. */
function ordered(given) {
  const [one] = given, { inputs } = about;
  const plain = typeof one === "object" && one !== null && !Array.isArray(one) && !ArrayBuffer.isView(one);
  if (given.length === 1 && plain) {
    const names = inputs.map(({ name }) => name), stranger = Object.keys(one).find((name) => !names.includes(name));
    if (stranger !== undefined) {
      throw new TypeError(`${about.name}: there is no input ${JSON.stringify(stranger)}, only ${names.join(", ")}`);
    }
    return names.map((name) => {
      if (one[name] === undefined) throw new TypeError(`${about.name}: the input ${name} is missing`);
      return one[name];
    });
  }
  if (given.length !== inputs.length) {
    throw new TypeError(`${about.name}: takes ${inputs.map(({ name }) => name).join(", ")}, got ${given.length} arguments`);
  }
  return given;
}

const BLOCK = 1024;  // states in memory at a time

function computed(exports, given, many) {
  const { inputs, outputs } = about, values = ordered(given).map((value, k) => {
    const found = flat(inputs[k], value);
    return found.buffer === exports.memory.buffer ? found.slice() : found;  // that memory is written over, and may grow
  });
  let count = 1;
  values.forEach((value, k) => {
    const { name, size } = inputs[k], rows = size || value.length ? value.length / size : 1;
    if (!Number.isInteger(rows) || (!many && value.length !== size)) {
      throw new RangeError(
        `${about.name}: ${name} must hold ${many ? "a multiple of " : ""}${size} numbers, got ${value.length}`);
    }
    if (rows === 1 || rows === count) return;
    if (count !== 1) throw new RangeError(`${about.name}: ${name} has ${rows} states, inputs before it ${count}`);
    count = rows;
  });
  const results = outputs.map(({ size }) => new Float64Array(count * size));
  const block = Math.min(count, BLOCK), all = [...inputs, ...outputs], places = [];
  let end = exports.start.value / 8;
  for (const { size } of all) {
    places.push(end);
    end += size * block;
  }
  const missing = Math.ceil(8 * end / 65536) - exports.memory.buffer.byteLength / 65536;
  if (missing > 0) exports.memory.grow(missing);
  const memory = new Float64Array(exports.memory.buffer), offsets = places.map((place) => 8 * place);
  for (let first = 0; first < count; first += block) {
    const rows = Math.min(block, count - first);
    values.forEach((value, k) => {
      const { size } = inputs[k], place = places[k];
      if (value.length === count * size) {
        for (let i = 0; i < rows * size; i++) memory[place + i] = value[first * size + i];
      } else for (let i = 0; i < rows * size; i++) memory[place + i] = value[i % size];  // one state for all
    });
    exports.batch(rows, ...offsets);
    results.forEach((result, k) => {
      const { size } = outputs[k], place = places[inputs.length + k];
      result.set(memory.subarray(place, place + rows * size), first * size);
    });
  }
  return results.length === 1 ? results[0] : Object.fromEntries(outputs.map(({ name }, k) => [name, results[k]]));
}
