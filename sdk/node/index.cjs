"use strict";
// An application of a framework as a handler: an http event in, the answer of its version out.
const { answerOf } = require("./lib/answers.cjs");
const { byAnyKind, isPromise, refused } = require("./lib/apps.cjs");
const { isHttp, isOfVersionTwo, NotHttpEventError, requestOf } = require("./lib/events.cjs");
const { invocationOf } = require("./lib/invocations.cjs");
const { checked } = require("./lib/options.cjs");
const { limitOf, within } = require("./lib/time.cjs");

function handler(app, options = {}) {
  const settings = checked(options);
  const ask = onceReady(app);
  return async (event, context) => {
    if (isHttp(event)) return answered(ask, settings, { event, context });
    if (settings.onEvent) return settings.onEvent(event, context);
    throw new NotHttpEventError(event);
  };
}

// The app gets ready at the first call: until then routes may be added to it. What it fails with
// then is the error of every call.
function onceReady(app) {
  const problem = refused(app);
  if (problem) throw problem;
  // One that fails before there is a call is told by the calls.
  if (isPromise(app)) app.then(undefined, () => {});
  let ready;
  return () => (ready ??= byAnyKind(app));
}

async function answered(ready, settings, invocation) {
  const request = requestOf(invocation.event, settings.basePath);
  const limit = limitOf(settings.timeout, invocation.context);
  const work = async (signal) => (await ready())(request, { ...invocation, signal });
  const answer = await within(limit, work, () => tooLate(limit));
  return answerOf(answer, { isOfVersionTwo: isOfVersionTwo(invocation.event), isBinary: settings.isBinary });
}

function tooLate(limit) {
  const error = `the application did not answer within ${Math.round(limit)} ms`;
  return {
    status: 504,
    headers: [["content-type", "application/json"]],
    body: Buffer.from(JSON.stringify({ error })),
  };
}

exports.handler = handler;
exports.invocationOf = invocationOf;
exports.NotHttpEventError = NotHttpEventError;
