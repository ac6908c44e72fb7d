/** Float32 numbers, little-endian, in base64. */
export function packed(parameters: Float64Array): string {
  const bytes = Buffer.alloc(parameters.length * 4);
  for (let i = 0; i < parameters.length; i += 1) bytes.writeFloatLE(parameters[i] as number, i * 4);
  return bytes.toString("base64");
}

export function unpacked(text: string): Float64Array {
  const bytes = Buffer.from(text, "base64");
  const parameters = new Float64Array(Math.floor(bytes.length / 4));
  for (let i = 0; i < parameters.length; i += 1) parameters[i] = bytes.readFloatLE(i * 4);
  return parameters;
}
