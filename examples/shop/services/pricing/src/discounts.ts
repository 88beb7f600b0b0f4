import type { Cents } from "../../../libs/shared/money";

/** The more is bought, the less a piece costs. */
const STEPS = [
  { from: 100_00, percent: 10 },
  { from: 50_00, percent: 5 },
];

export function discounted(amount: Cents): Cents {
  const step = STEPS.find(({ from }) => amount >= from);
  return step ? amount - Math.floor((amount * step.percent) / 100) : amount;
}
