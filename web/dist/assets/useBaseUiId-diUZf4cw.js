//# allFunctionsCalledOnLoad
import{lt as e}from"./inertValue-B10HDqXC.js";function t(t){return e(t,`base-ui`)}export{t};