import { Order, VERSION } from '@acme/shared';
import { inEuros } from '@acme/shared/money';
import { BadInput } from '@acme/errors';
import { reply } from '~/lib/reply';

export const handler = async (event: { body?: string }) => {
  try {
    const read = Order.safeParse(JSON.parse(event.body ?? '{}'));
    if (!read.success) throw new BadInput(read.error.issues.map(({ path }) => path.join('.')).join());
    return reply(200, { id: read.data.id, price: inEuros(read.data.cents), version: VERSION });
  } catch (error) {
    if (error instanceof BadInput) return reply(error.status, { error: `${error.name}: ${error.message}` });
    throw error;
  }
};
