/** Windows that say how well something is predicted now: ten minutes of 15 s. An average discounts by one part in so many. */
export const RECENT_WINDOWS = 40;
