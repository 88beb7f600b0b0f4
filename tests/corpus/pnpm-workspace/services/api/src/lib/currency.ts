export const currency = "EUR";
