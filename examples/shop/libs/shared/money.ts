/** Amounts are whole cents: floating point never touches a price. */
export type Cents = number;

export function total(lines: { price: Cents; quantity: number }[]): Cents {
  return lines.reduce((sum, line) => sum + line.price * line.quantity, 0);
}

export function format(amount: Cents, currency = "EUR"): string {
  return `${(amount / 100).toFixed(2)} ${currency}`;
}
