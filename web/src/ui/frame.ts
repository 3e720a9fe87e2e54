// Drawing at the next frame, which an effect takes back when it runs again or its view goes.

/** Draws before the next paint. Returns what takes that back: a view that is gone must not draw, for what it
 * would read is gone too. */
export function nextFrame(draw: () => void): () => void {
  const request = requestAnimationFrame(draw);
  return () => cancelAnimationFrame(request);
}
