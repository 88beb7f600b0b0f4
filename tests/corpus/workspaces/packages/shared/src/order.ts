import { z } from 'zod';

export const Order = z.object({ id: z.coerce.number().int().positive(), cents: z.number().default(0) });
export type OrderData = z.infer<typeof Order>;
