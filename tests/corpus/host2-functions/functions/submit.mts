import type { Config, Context } from '@netlify/functions';

export default async (request: Request, context: Context) => {
  const form = await request.formData();
  const mail = form.get('mail');
  if (typeof mail !== 'string') return new Response('no mail', { status: 400 });
  context.cookies.set({ name: 'joined', value: '1' });
  return Response.json({ list: context.params.list, mail, known: process.env.LIST === context.params.list });
};

export const config: Config = { path: '/lists/:list', method: 'POST' };
