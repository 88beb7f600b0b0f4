// One copy of the code, however it is loaded: classes and what is remembered of a request are shared.
import sdk from "./index.cjs";

export const { handler, invocationOf, NotHttpEventError } = sdk;
export default handler;
