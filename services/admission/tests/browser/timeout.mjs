// How long a step can take, in milliseconds. Wide, for a machine that has much else to do.
export const timeout = 180_000;
