import { type Answer, bodyOf, json, type Request } from "../../../libs/shared/http";
import { format, total } from "../../../libs/shared/money";
import { discounted } from "./discounts";

interface Basket {
  lines: { price: number; quantity: number }[];
}

export async function handler(request: Request): Promise<Answer> {
  const basket = bodyOf<Basket>(request);
  if (!basket) {
    return json(400, { error: "send a basket" });
  }
  const amount = discounted(total(basket.lines));
  return json(200, { amount, shown: format(amount) });
}
