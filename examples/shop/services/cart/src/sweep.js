import { dropEmpty } from "./carts";

export async function handler() {
  return { dropped: dropEmpty() };
}
