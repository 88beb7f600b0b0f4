"use strict";
// Which answers are text in an event: all others go as base64.

const TEXT = /^(text\/|application\/(json|javascript|ecmascript|xml|graphql|yaml|x-ndjson|x-www-form-urlencoded)$|.*\+(json|xml|yaml)$)/;
const OUR_CHARSETS = new Set(["utf-8", "utf8", "us-ascii", "ascii"]);

function binaryBy(patterns) {
  const isNamed = (type) => patterns.some((pattern) => fits(pattern, type));
  return ({ headers, body }) => {
    const encoding = valueOf(headers, "content-encoding").toLowerCase();
    if (encoding && encoding !== "identity") return true;
    const [type, ...parameters] = valueOf(headers, "content-type").toLowerCase().split(";").map((one) => one.trim());
    return isNamed(type) || !isTextual(type, parameters) || !isUtf8(body);
  };
}

// Answers without a type are told by their bytes.
function isTextual(type, parameters) {
  const charset = parameters.find((one) => one.startsWith("charset="))?.slice("charset=".length).replaceAll('"', "");
  return (!type || TEXT.test(type)) && (!charset || OUR_CHARSETS.has(charset));
}

function fits(pattern, type) {
  if (pattern === "*/*" || pattern === type) return true;
  return pattern.endsWith("/*") && type.startsWith(pattern.slice(0, -1));
}

function valueOf(headers, name) {
  return headers.find(([one]) => one === name)?.[1] ?? "";
}

function isUtf8(bytes) {
  try {
    new TextDecoder("utf-8", { fatal: true }).decode(bytes);
    return true;
  } catch {
    return false;
  }
}

module.exports = { binaryBy };
