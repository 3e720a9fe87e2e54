// Drawing at the next frame, which an effect cancels when it runs again or its view is removed.

/** Draws before the next paint. The function returned cancels it: the values that a removed view would read are
 * removed with it. */
export function nextFrame(draw: () => void): () => void {
  const request = requestAnimationFrame(draw);
  return () => cancelAnimationFrame(request);
}
