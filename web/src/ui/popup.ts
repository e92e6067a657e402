/** The look of menus, lists of choices, and calendars. They appear quickly, or at once with reduced motion. */
export const popupClass =
  'hairline overflow-y-auto rounded-md bg-raised py-1 text-ink text-sm shadow-raised outline-none transition-opacity duration-120 data-ending-style:opacity-0 data-starting-style:opacity-0'

/**
 * Returns whether an event that would close a popup comes from the button that opened it. That button closes it itself;
 * otherwise its click would open it again.
 */
export function isOfTrigger(trigger: Element, event: Event): boolean {
  const at = event instanceof FocusEvent ? event.relatedTarget : event.target
  return at instanceof Node && trigger.contains(at)
}
