import type { VercelRequest, VercelResponse } from '@vercel/node';
import { find, save } from '../../lib/users';

export default async function handler(req: VercelRequest, res: VercelResponse) {
  const { verbose } = req.query;
  if (req.method === 'PUT') return res.status(200).json(await save(req.body));
  if (req.method !== 'GET') return res.status(405).setHeader('Allow', 'GET, PUT').send(`no ${req.method}`);
  const user = await find(req.url!.split('?')[0]!.split('/').pop()!);
  return user ? res.json(verbose ? { ...user, session: req.cookies.session } : user) : res.status(404).end();
}
