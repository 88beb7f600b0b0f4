import { pipeline } from 'node:stream/promises';
import { Readable } from 'node:stream';
import { rows } from './rows.mjs';

export const handler = awslambda.streamifyResponse(async (event, responseStream, context) => {
  const count = Number(event.queryStringParameters?.count ?? 2);
  const out = awslambda.HttpResponseStream.from(responseStream, {
    statusCode: 200,
    headers: { 'Content-Type': 'application/x-ndjson', 'X-Function': context.functionName.split('-').at(-1) },
  });
  await pipeline(Readable.from(rows(count)), out);
});
