import { Hono } from 'hono';
import { HTTPException } from 'hono/http-exception';

type Bindings = { HOME_PAGE: string };
const app = new Hono<{ Bindings: Bindings }>();

app.get('/', (c) => c.redirect(c.env.HOME_PAGE, 301));
app.get('/go/:name', (c) => c.json({ name: c.req.param('name'), tags: c.req.queries('tag') ?? [] }));
app.post('/echo', async (c) => {
  c.header('x-length', String((await c.req.raw.clone().arrayBuffer()).byteLength));
  return c.text(await c.req.text());
});
app.get('/secret', () => {
  throw new HTTPException(401, { message: 'not for you' });
});

export default app;
