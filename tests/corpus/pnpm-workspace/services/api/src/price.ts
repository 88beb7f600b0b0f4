import { logged } from "@acme/core";
import { format } from "@acme/core/money";
import { currency } from "#lib/currency";

class Prices {
  @logged
  static of(cents: number): unknown {
    return { price: format(cents), currency };
  }
}

export const handler = async (event: { cents: number }): Promise<unknown> => Prices.of(event.cents);
