import { configure } from '@testing-library/react'

// On a busy machine, a component can take longer than the default of 1 s.
configure({ asyncUtilTimeout: 30_000 })
