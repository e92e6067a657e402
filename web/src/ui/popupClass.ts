/** The look of menus, lists of choices, and calendars. They appear quickly, or at once with reduced motion. */
export const popupClass =
  'hairline overflow-y-auto rounded-md bg-raised py-1 text-ink text-sm shadow-raised outline-none transition-opacity duration-120 data-ending-style:opacity-0 data-starting-style:opacity-0'
