/** C CPU, M memory, D disk, N network, I interference by other tenants, L load, V a new version, X outside of what is measured. */
export const CAUSE_TYPES = ["C", "M", "D", "N", "I", "L", "V", "X"] as const;
