const known = new Map<string, boolean>()

/** Draws an emoji in black and returns whether any pixel has a color, which the box for a missing glyph has not. */
function draw(emoji: string): boolean {
  const pen = Object.assign(document.createElement('canvas'), { width: 24, height: 24 }).getContext('2d')
  if (!pen) return false
  pen.font = '18px sans-serif'
  pen.fillText(emoji, 1, 19)
  const { data } = pen.getImageData(0, 0, 24, 24)
  for (let i = 0; i < data.length; i += 4) if (data[i] !== data[i + 1] || data[i] !== data[i + 2]) return true
  return false
}

/** Returns whether the system has a font with an emoji. Otherwise it would show an empty box. */
export function canDraw(emoji: string): boolean {
  const is = known.get(emoji) ?? draw(emoji)
  known.set(emoji, is)
  return is
}
