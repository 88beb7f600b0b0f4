import wrap, { handler, invocationOf, NotHttpEventError, type Answer } from "fabric-handler";
import express from "./express.mjs";

const listener = handler(express, { basePath: "/api", timeout: 1000, binaryTypes: ["font/*"] });
const answer: Promise<Answer> = listener({ rawPath: "/" });
const events = wrap(Promise.resolve({ inject: async () => ({}) }), { onEvent: (event) => event.Records.length });
const count: Promise<number> = events({ Records: [] }, {});
handler({ getHttpAdapter: () => ({}) });
const event = invocationOf({})?.event;
const isKind: boolean = new NotHttpEventError(event) instanceof TypeError;
// @ts-expect-error: no such option
handler(express, { basepath: "/api" });
// @ts-expect-error: no application
handler({});
export { answer, count, isKind };
