//# allFunctionsCalledOnLoad
import{lt as e}from"./inertValue-rTP2bu2a.js";function t(t){return e(t,`base-ui`)}export{t};