//# allFunctionsCalledOnLoad
import{lt as e}from"./inertValue-CTdBrDvr.js";function t(t){return e(t,`base-ui`)}export{t};