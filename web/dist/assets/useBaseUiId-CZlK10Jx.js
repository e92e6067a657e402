//# allFunctionsCalledOnLoad
import{lt as e}from"./inertValue-adApdaQM.js";function t(t){return e(t,`base-ui`)}export{t};