import { serve } from "./runtime";

await serve((event) => ({
  statusCode: 200,
  headers: { "content-type": "text/plain" },
  body: `hello, ${event.queryStringParameters?.name ?? "world"}`,
}));
