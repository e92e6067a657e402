//# allFunctionsCalledOnLoad
import{lt as e}from"./inertValue-CE76ABKx.js";function t(t){return e(t,`base-ui`)}export{t};