//# allFunctionsCalledOnLoad
import{lt as e}from"./inertValue-ty5iae9G.js";function t(t){return e(t,`base-ui`)}export{t};