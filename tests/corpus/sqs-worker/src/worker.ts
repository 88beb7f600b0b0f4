import { parseMail } from './mail.js';
import type { Mail } from './mail.js';

interface QueueRecord {
  messageId: string;
  body: string;
}
interface Answer {
  batchItemFailures: { itemIdentifier: string }[];
}

async function send(mail: Mail): Promise<void> {
  await Promise.resolve();
  if (mail.to.endsWith('.invalid')) throw new Error(`no such host: ${mail.to}`);
  console.log(`${process.env.SENDER} -> ${mail.to}: ${mail.subject}`);
}

export const handler = async (event: { Records: QueueRecord[] }): Promise<Answer> => {
  const outcomes = await Promise.allSettled(event.Records.map(async ({ body }) => send(parseMail(body))));
  const failed = event.Records.filter((_, at) => outcomes[at]?.status === 'rejected');
  return { batchItemFailures: failed.map(({ messageId }) => ({ itemIdentifier: messageId })) };
};
