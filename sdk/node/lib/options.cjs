"use strict";
// Options as they were given, checked: a slip is told when the module is loaded, not at a call.
const { binaryBy } = require("./body.cjs");

const KNOWN = ["basePath", "timeout", "binaryTypes", "onEvent"];
const TYPE = /^(\*|[\w.+-]+)\/(\*|[\w.+-]+)$/;

function checked(options) {
  if (options === null || typeof options !== "object") throw new TypeError("the options must be an object");
  const unknown = Object.keys(options).filter((name) => !KNOWN.includes(name));
  if (unknown.length) throw new TypeError(`unknown option ${unknown.join(", ")}: there are ${KNOWN.join(", ")}`);
  const { basePath = "", timeout = Infinity, binaryTypes = [], onEvent } = options;
  return {
    basePath: pathOf(basePath),
    timeout: timeOf(timeout),
    isBinary: binaryBy(typesOf(binaryTypes)),
    onEvent: functionOf(onEvent),
  };
}

// With one slash before and none behind; nothing for the root.
function pathOf(basePath) {
  if (typeof basePath !== "string") throw new TypeError("basePath must be text, such as /api");
  const inner = basePath.replace(/^\/+|\/+$/g, "");
  return inner && `/${inner}`;
}

function timeOf(timeout) {
  if (typeof timeout === "number" && timeout > 0) return timeout;
  throw new TypeError("timeout must be a positive number of milliseconds");
}

function typesOf(types) {
  const isRight = (one) => typeof one === "string" && TYPE.test(one);
  if (Array.isArray(types) && types.every(isRight)) return types.map((one) => one.toLowerCase());
  throw new TypeError("binaryTypes must be a list of types, such as application/pdf or font/*");
}

function functionOf(onEvent) {
  if (onEvent === undefined || typeof onEvent === "function") return onEvent;
  throw new TypeError("onEvent must be a function (event, context)");
}

module.exports = { checked };
