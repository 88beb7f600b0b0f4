export interface Mail {
  to: string;
  subject: string;
}

export function parseMail(text: string): Mail {
  const { to, subject = '(none)' } = JSON.parse(text) as Partial<Mail>;
  if (typeof to !== 'string' || !to.includes('@')) throw new TypeError('a mail has a receiver');
  return { to, subject };
}
